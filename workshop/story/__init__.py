"""Programs that learn and check the facts of known games."""
