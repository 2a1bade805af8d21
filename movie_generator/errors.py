"""The errors of script generation; those of servers and models are ``mcp_ghost``'s.

MovieGeneratorError
├── SettingsError           config.yaml, or what the environment says, cannot be used
├── AgentError              the agent did not finish
│   └── IterationLimitError because it may not ask the model again (a RuntimeError too)
├── PageError               the page cannot be read, or holds nothing
├── ScriptError             the model wrote no usable script
├── UrlRefusedError         a URL leads where it must not (in urls.py; a ValueError too)
│   └── UrlUnresolvedError  because its host cannot be resolved
├── JobStateError           a job cannot change in that way (in jobs.py; a ValueError too)
└── JobDatabaseError        the queue cannot be used (in database.py; a RuntimeError too)
"""


class MovieGeneratorError(Exception):
    """Base of everything below."""


class SettingsError(MovieGeneratorError, ValueError):
    """Raised when a setting is missing or cannot be used; the message names it."""


class AgentError(MovieGeneratorError, RuntimeError):
    """Raised when the agent ended without an answer."""


class IterationLimitError(AgentError):
    """Raised when the model still wanted tools after its last permitted reply."""


class PageError(MovieGeneratorError):
    """Raised when a page cannot be read, or holds no text."""


class ScriptError(MovieGeneratorError):
    """Raised when the model wrote no usable script, not even when told what was wrong."""
