"""The providers with an address of their own: a new one is one entry here, for all programs."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMError
from mcp_ghost.text import address
from mcp_ghost.trust import may_use

WireFormat: TypeAlias = Literal["openai", "anthropic", "gemini"]


class Hosted(NamedTuple):
    """One of them, and the models asked there where nobody names one."""

    name: str
    key_variables: tuple[str, ...]
    """Environment variables that may hold the key; the first is the one to recommend."""
    base_url: str
    base_url_variable: str
    """The environment variable that replaces it."""
    default_model: str
    """For a run of tools, and for a video script."""
    small_model: str
    """For an episode: hundreds of short turns."""
    wire: WireFormat


OPENROUTER: Final = Hosted(
    name="openrouter",
    key_variables=("OPENROUTER_API_KEY",),
    base_url="https://openrouter.ai/api/v1",
    base_url_variable="OPENROUTER_BASE_URL",
    default_model="openai/gpt-5.4",
    small_model="deepseek/deepseek-v4-flash",
    wire="openai",
)
OPENAI: Final = Hosted(
    name="openai",
    key_variables=("OPENAI_API_KEY",),
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
    # https://developers.openai.com/api/docs/models: both take tools through the Responses API.
    default_model="gpt-6.2-sol",
    small_model="gpt-6-luna",
    wire="openai",
)
ANTHROPIC: Final = Hosted(
    name="anthropic",
    key_variables=("ANTHROPIC_API_KEY",),
    base_url="https://api.anthropic.com",
    base_url_variable="ANTHROPIC_BASE_URL",
    default_model="claude-sonnet-5-5",
    small_model="claude-haiku-5-5",
    wire="anthropic",
)
GEMINI: Final = Hosted(
    name="gemini",
    key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    base_url="https://generativelanguage.googleapis.com",
    base_url_variable="GOOGLE_GEMINI_BASE_URL",
    default_model="gemini-3.8-flash",
    small_model="gemini-3.8-flash",
    wire="gemini",
)
HOSTED: Final = (OPENROUTER, OPENAI, ANTHROPIC, GEMINI)
"""In the order in which a key that is there chooses."""


@lru_cache
def hosted_at(base_url: str) -> Hosted | None:
    """The provider whose address, or one below it, ``base_url`` is."""
    try:
        host = f".{urlsplit(base_url).hostname or ''}"
    except ValueError:
        return None
    return next((it for it in HOSTED if host.endswith(f".{urlsplit(it.base_url).hostname}")), None)


def check_key(
    base_url: str, named_in: Path | None, keys: Sequence[str], keys_in: Path | None
) -> None:
    """Check that a key may go to ``base_url``: home, where its user said, or where its file says.

    Args:
        base_url: An address.
        named_in: The file of the working directory that names it; None if its user does.
        keys: The variables of the key.
        keys_in: The file that holds it; None if the environment does.

    Raises:
        LLMError: It may not; the message says what to do.
    """
    home = hosted_at(base_url)
    is_home = home and {*home.key_variables} & {*keys} and base_url.startswith("https://")
    if named_in is None or named_in == keys_in or is_home:
        return
    where = address(base_url)
    asked = {where: f"as the place where the key in {keys[0]} is sent"}
    if not may_use(named_in, asked, fails=True):
        raise LLMError(
            f"The key in {keys[0]} is not sent to {where}, an address that only {named_in} names: "
            "give the address by a flag or in the environment, keep its key in the same file, or "
            "give --trust."
        )
