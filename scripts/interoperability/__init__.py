"""The parts of ``scripts/real_servers.py``."""
