"""The errors that this package raises; foreign ones are translated at the boundary.

MCPGhostError
├── MCPError                        anything about MCP servers and their tools
│   ├── MCPConfigError              the configuration cannot be used
│   │   └── MCPConfigNotFoundError  because its file does not exist
│   ├── MCPServerStartupError       a server could not be started or initialised
│   └── MCPToolCallError            a call did not produce a result
│       └── MCPServerDiedError      because the server is gone
├── LLMError                        anything about the model's side
│   ├── LLMConnectionError          no answer: refused, cut, timed out
│   │   └── LLMUnreachableError     because there was no connection in the first place
│   ├── LLMStatusError              an answer with an HTTP error status
│   ├── LLMReplyError               an answer that holds nothing usable
│   │   └── LLMMalformedCallError   because it is a call that cannot be read
│   ├── EnvFileError                no key: .env is there and cannot be read
│   └── LLMUnavailableError         not asked: the circuit breaker is open
├── UrlRefusedError                 a URL leads where it must not (a ValueError too)
│   └── UrlUnresolvedError          because its host cannot be resolved
└── GoldenError                     a recording cannot be read or written
    └── GoldenExhaustedError        it holds fewer replies than were asked for (an LLMError too)
"""

from collections.abc import Mapping

from mcp_ghost.messages import LLMResponse, Usage

POSIX_ONLY = "mcp_ghost runs on Linux and macOS. On Windows, run it inside WSL."
"""What is said where there are neither process groups nor ``flock``."""


class MCPGhostError(Exception):
    """Base of all errors of this package."""


class UrlRefusedError(MCPGhostError, ValueError):
    """Raised when nothing may be asked for at a URL; the message says why."""

    passes = False
    """Whether the same may succeed later."""


class UrlUnresolvedError(UrlRefusedError):
    """Raised when a URL's host has no address, at least not now or not from here."""


class MCPError(MCPGhostError):
    """Raised when something about MCP servers or their tools is wrong."""


class MCPConfigError(MCPError, ValueError):
    """Raised when the configuration of MCP servers is missing or malformed."""


class MCPConfigNotFoundError(MCPConfigError, FileNotFoundError):
    """Raised when the configuration's file does not exist."""


class MCPServerStartupError(MCPError):
    """Raised when a server could not be started, initialised or asked for its tools."""


class MCPToolCallError(MCPError):
    """Raised when a tool call ended without a result from the server."""


class MCPServerDiedError(MCPToolCallError):
    """Raised when the server's process or connection is gone, so that no tool can work."""

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        """Whether the server may have got the call before that, and acted on it."""


class LLMError(MCPGhostError):
    """Raised when the model could not be asked or gave no usable answer."""

    usage = Usage()
    """What replies took that were of no use."""
    reply: LLMResponse | None = None
    """One that came and is empty."""


class EnvFileError(LLMError, ValueError):
    """Raised when ``.env`` is there and cannot be read."""


class LLMConnectionError(LLMError):
    """Raised when no complete answer arrived: refused, cut off or timed out."""


class LLMUnreachableError(LLMConnectionError):
    """Raised when no connection to the model's server could be made."""


class LLMStatusError(LLMError):
    """Raised when the provider answered with an HTTP error status."""

    def __init__(
        self,
        message: str,
        status: int,
        retry_after: float | None = None,
        said: str = "",
        named: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.said = said or message
        """The provider's own words, without our advice."""
        self.retry_after = retry_after
        """Seconds that the provider asked us to wait, where it said so."""
        self.named = named or {}
        """What it says beside its words: the "type", "code" and "param" of the error."""


class LLMReplyError(LLMError):
    """Raised when the answer is empty or not in the provider's format."""


class LLMMalformedCallError(LLMReplyError):
    """Raised when the model wrote a call that its server could not read."""


class LLMUnavailableError(LLMError):
    """Raised when the circuit breaker is open, without asking the provider."""


class GoldenError(MCPGhostError, ValueError):
    """Raised when a recording cannot be read, written or replayed."""


class GoldenExhaustedError(GoldenError, LLMError):
    """Raised when a replayed run asks the model more often than was recorded."""
