"""The interpreters that a story can be played with, behind one interface."""
