"""Whether a script rests on its page."""
