"""Stage 1: what a Python function does, as graphs of torch calls."""
