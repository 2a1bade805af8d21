"""Suites: files that list the games of one evaluation."""
