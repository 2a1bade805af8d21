"""The errors of script generation; those of servers and models are ``mcp_ghost``'s.

MovieGeneratorError
├── SettingsError           config.yaml, or what the environment says, cannot be used
├── AgentError              the agent came to no end
│   └── IterationLimitError because it may not ask the model any more (a RuntimeError too)
├── PageError               the page cannot be read, or holds nothing
└── ScriptError             the model wrote no usable script
"""


class MovieGeneratorError(Exception):
    """Base of everything below."""


class SettingsError(MovieGeneratorError, ValueError):
    """Raised when a setting is missing or cannot be used; the message names it."""


class AgentError(MovieGeneratorError, RuntimeError):
    """Raised when the agent ended without an answer."""


class IterationLimitError(AgentError):
    """Raised when the model still wanted tools after the last reply that it may give."""


class PageError(MovieGeneratorError):
    """Raised when a page cannot be read, or holds no text."""


class ScriptError(MovieGeneratorError):
    """Raised when the model wrote no usable script, not even when told what was wrong."""
