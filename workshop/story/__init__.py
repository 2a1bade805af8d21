"""Programs that build the bundled story, and learn and check the facts of known games."""
