"""Where a person decides: before calls, in the middle of them, at once or after a pause."""
