"""Programs for contributors."""
