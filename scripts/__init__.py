"""Programs around the project, not part of it."""
