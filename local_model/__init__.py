"""A small language model on this machine, behind the same HTTP as a large one far away.

Nothing is imported before it is used: most games talk to a server elsewhere.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_model.errors import LocalModelError
    from local_model.settings import EMBEDDED_MODEL_NAME
    from local_model.transport import EMBEDDED_BASE_URL, embedded_transport

__all__ = ["EMBEDDED_BASE_URL", "EMBEDDED_MODEL_NAME", "LocalModelError", "embedded_transport"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    for module in ("settings", "errors", "transport"):
        loaded = import_module(f"local_model.{module}")
        if hasattr(loaded, name):
            return getattr(loaded, name)
    raise AssertionError(name)
