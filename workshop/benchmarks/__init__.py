"""The parts of ``workshop/benchmark.py``."""
