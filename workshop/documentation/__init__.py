"""What writes the documentation, and what makes a site of it."""
