"""The parts of ``scripts/evaluate.py``."""
