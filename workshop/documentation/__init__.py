"""Generates parts of the documentation, and builds a site from it."""
