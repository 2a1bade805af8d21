"""One module for each provider: our conversation to its wire format and its reply back."""
