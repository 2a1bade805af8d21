"""A small language model on this machine, behind the same HTTP as a large one far away.

Nothing is imported before it is used: most games talk to a server elsewhere.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_model.errors import LocalModelError
    from local_model.transport import embedded_transport

EMBEDDED_HOST = "embedded.invalid"  # RFC 2606: no such host can exist
EMBEDDED_BASE_URL = f"http://{EMBEDDED_HOST}/v1"
EMBEDDED_MODEL_NAME = "smollm2-135m-instruct"

__all__ = [
    "EMBEDDED_BASE_URL",
    "EMBEDDED_HOST",
    "EMBEDDED_MODEL_NAME",
    "LocalModelError",
    "embedded_transport",
]


def __getattr__(name: str) -> object:
    if name == "LocalModelError":
        from local_model.errors import LocalModelError

        return LocalModelError
    if name == "embedded_transport":
        from local_model.transport import embedded_transport

        return embedded_transport
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
