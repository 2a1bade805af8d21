"""Where models are asked: the providers that a key at hand chooses, and how a role asks its own."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from mcp_ghost.env_file import setting
from mcp_ghost.providers.hosted import HOSTED, Hosted, WireFormat, hosted_at

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


def spoken_here(base_url: str, provider: ProviderChoice) -> list[Hosted]:
    """Those whose keys a proxy at ``base_url`` is for, when it runs on this machine."""
    on_this_machine = urlsplit(base_url).hostname in {"localhost", "127.0.0.1", "::1"}
    wire = "openai" if provider == "auto" else provider
    return [it for it in HOSTED if on_this_machine and it.wire == wire]


def default_model(base_url: str, provider: ProviderChoice) -> str:
    """The model to ask at ``base_url`` where none is named."""
    at_home = hosted_at(base_url)
    named = [it for it in HOSTED if it.wire == provider != "openai"]
    return next((it.small_model for it in ([at_home] if at_home else named)), "default")


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
