"""How much of a long conversation the model is shown."""
