"""Requests that providers refuse, and requests that they accept; one module for each format."""
