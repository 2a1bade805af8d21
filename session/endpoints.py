"""Where models are asked: the providers that a key at hand chooses, and how a role asks its own."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

ProviderChoice: TypeAlias = Literal["auto", "openai", "anthropic", "gemini"]
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


class Hosted(NamedTuple):
    """A provider with an address of its own."""

    provider: str
    """The wire format that it speaks."""
    base_url: str
    domain: str
    """Its hosts are here and below."""
    keys: tuple[str, ...]
    """Fields of the configuration that may hold its key."""
    model: str
    """What ``auto`` stands for."""


HOSTED = (
    Hosted(
        "openai",
        "https://openrouter.ai/api/v1",
        "openrouter.ai",
        ("openrouter_api_key",),
        "deepseek/deepseek-v3.2",
    ),
    Hosted(
        "openai", "https://api.openai.com/v1", "openai.com", ("openai_api_key",), "gpt-4.1-mini"
    ),
    Hosted(
        "anthropic",
        "https://api.anthropic.com",
        "anthropic.com",
        ("anthropic_api_key",),
        "claude-haiku-4-5",
    ),
    Hosted(
        "gemini",
        "https://generativelanguage.googleapis.com",
        "generativelanguage.googleapis.com",
        ("google_api_key", "gemini_api_key"),
        "gemini-3.5-flash",
    ),
)
"""In the order in which a key at hand chooses."""


def hosted_at(base_url: str) -> Hosted | None:
    """Whose address ``base_url`` is."""
    host = f".{urlsplit(base_url).hostname or ''}"
    return next((it for it in HOSTED if host.endswith(f".{it.domain}")), None)


def spoken_here(base_url: str, provider: ProviderChoice) -> list[Hosted]:
    """Those whose keys a proxy at ``base_url`` is for, when it runs on this machine."""
    on_this_machine = urlsplit(base_url).hostname in {"localhost", "127.0.0.1", "::1"}
    wire = "openai" if provider == "auto" else provider
    return [it for it in HOSTED if on_this_machine and it.provider == wire]


def default_model(base_url: str, provider: ProviderChoice) -> str:
    """The model to ask at ``base_url`` where none is named."""
    at_home = hosted_at(base_url)
    named = [it for it in HOSTED if it.provider == provider != "openai"]
    return next((it.model for it in ([at_home] if at_home else named)), "default")


ROLE_KEYS = (*SAMPLING, "thinking_tokens")
"""What the section of a role's sampling has."""


class RoleSettings(NamedTuple):
    """How one role (such as ``agent``) asks its model."""

    model: str
    base_url: str
    api_key: str | None
    sampling: dict[str, Any]
    """The options of a request that say how to write, not what; None leaves one out."""


def sampling_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a request; a model that is to think has room for that beside its answer."""
    options = {name: given[name] for name in SAMPLING}
    thinks = options["reasoning_effort"] not in {None, "none"}
    if thinks and options["max_tokens"]:
        options["max_tokens"] += given["thinking_tokens"]
    return options
