"""Many episodes played, measured and compared."""
