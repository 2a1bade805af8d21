"""The version of this package, which servers are told, too."""

__version__ = "0.2.0"
