"""One run of ``mcp_ghost()``, from the first request to the final account.

``mcp_ghost.run(...)`` is ``run_ghost(...)``, though ``mcp_ghost.run`` is this package.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> object:  # noqa: ANN401  those of run_ghost
        return sys.modules["mcp_ghost"].run_ghost(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
