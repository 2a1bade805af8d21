"""The embedded model's own errors."""


class LocalModelError(RuntimeError):
    """Raised when the embedded model cannot start; the message says what to do."""


class ModelFileError(LocalModelError):
    """Raised when the configured model file is not there, or is not a GGUF file."""
