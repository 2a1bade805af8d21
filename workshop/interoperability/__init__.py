"""The parts of ``workshop/real_servers.py``."""
