"""Queued jobs: their database, their life cycle, and the worker that does them."""
