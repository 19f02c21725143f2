"""`./dev bench`: the project's figures, measured against eager and `torch.compile` in one run."""
