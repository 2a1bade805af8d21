"""What a look back asks for, and how its answer is read and checked."""
