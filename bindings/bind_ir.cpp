namespace x {}
