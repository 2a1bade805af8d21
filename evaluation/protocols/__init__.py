"""Protocols: files that pin every setting that decides a figure."""
