"""The commands of ``scripts/evaluate.py``."""
