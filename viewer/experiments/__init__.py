"""Many episodes looked at together."""
