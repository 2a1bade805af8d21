"""Signing in to servers by URL."""
