"""What is stored, as Markdown files that people read and edit."""
