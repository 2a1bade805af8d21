"""What came of an evaluation, and how sure one can be of it."""
