"""How a role asks its model: with which options, and with which of the keys at hand."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from mcp_ghost.env_file import setting
from mcp_ghost.providers.hosted import HOSTED, WireFormat

ProviderChoice: TypeAlias = Literal["auto", WireFormat]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "seed",
    "reasoning_effort",
    "extra_body",
)


def keys_at_hand() -> dict[str, str]:
    """The providers' keys in the environment and in ``.env``, by their variables.

    Raises:
        EnvFileError: ``.env`` cannot be read.
    """
    variables = [name for hosted in HOSTED for name in hosted.key_variables]
    return {name: key for name in variables if (key := setting([name]))}


_THINKS_UNASKED = re.compile(r"(?:^|/)gpt-(?:5\.[5-9]|[6-9])")
"""OpenAI's models that think with medium effort where nothing else is said."""
ROLE_KEYS = (*SAMPLING, "thinking_tokens")
"""What the section of a role's sampling has."""


class RoleSettings(NamedTuple):
    """How one role (such as ``agent``) asks its model."""

    model: str
    base_url: str
    api_key: str | None
    sampling: dict[str, Any]
    """The options of a request that say how to write, not what; None leaves one out."""


def sampling_of(model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a request; a model that is to think has room for that beside its answer."""
    options = {name: given[name] for name in SAMPLING}
    effort = options["reasoning_effort"]
    thinks = effort != "none" if _THINKS_UNASKED.search(model) else effort not in {None, "none"}
    if thinks and options["max_tokens"]:
        options["max_tokens"] += given["thinking_tokens"]
    return options
