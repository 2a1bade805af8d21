"""The embedded model's own error."""


class LocalModelError(RuntimeError):
    """Raised when the embedded model cannot start; the message says what to do."""
