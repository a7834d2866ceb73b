"""View models: what the screens show, as plain data and pure functions."""
