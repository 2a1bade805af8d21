"""What the episodes of one evaluation must have in common, and what tells two of them apart."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_ghost.text import address, reason
from prompts import prompt_digests
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.version import code_digest, version

SECRET = {name for name, field in GameConfiguration.model_fields.items() if not field.repr}
"""Never passed on or written: a child reads keys from the environment, as its parent did."""
_NOT_COMPARED = SECRET.union(
    ["story", "seed", "workdir", "evaluation_group", "max_turns_per_episode", "local_threads"],
    ["storage_enabled", "storage_carry_over", "mcp_enabled"],
    ["agent_model", "agent_base_url", "client_base_url", "player_hints"],
)
"""Settings of one episode or one machine, or stated under a name of their own."""
_DIGEST = re.compile("[0-9a-f]{64}")


def program_at_hand() -> dict[str, Any]:
    """The code and the prompts that play, as every episode's log names them."""
    return {"version": version(), "code": code_digest(), "prompts": dict(prompt_digests())}


def portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without keys, and without what differs from machine to machine."""
    kept = {name: value for name, value in settings.items() if name not in _NOT_COMPARED}
    for name, value in kept.items():
        if value and name.endswith("_base_url"):
            kept[name] = address(value)
        elif value and name.endswith(("_path", "_file")):
            kept[name] = Path(value).name
    return kept


def kept_in(path: Path) -> dict[str, Any]:
    """The agreement that was stored in ``path``.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        named = {"configuration": dict(kept["configuration"])}
        return {**kept, **named, "prompts": dict(kept.get("prompts", {}))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read ({reason(error)}): choose another --out, or remove that folder."
        ) from error


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed from one agreement to another, other than that the matrix grew."""
    old, new = flat(before), flat(now)
    return sorted(
        f"{name} was {_said(name, old)} and is {_said(name, new)}"
        for name in old.keys() | new.keys()
        if old.get(name) != new.get(name) and not _has_grown(name, old.get(name), new.get(name))
    )


def short(value: str) -> str:
    """As much of a hash as tells it apart; anything else as it is."""
    return value[:12] if _DIGEST.fullmatch(value) else value


def flat(agreed: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> value of all that was agreed on; of each prompt, its hash."""
    nested = {"configuration", "prompts"}
    prompts = {f"prompt {name}": digest for name, digest in agreed.get("prompts", {}).items()}
    rest = {name: value for name, value in agreed.items() if name not in nested}
    return {**rest, **agreed.get("configuration", {}), **prompts}


def _said(name: str, agreed: Mapping[str, Any]) -> str:
    if name not in agreed:
        return "not recorded"
    value = agreed[name]
    if name in {"stories", "walkthroughs", "hints"}:
        return ", ".join(value)
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return short(value)
    return json.dumps(value)


def _has_grown(name: str, before: Any, now: Any) -> bool:  # noqa: ANN401  of every type that JSON has
    """Whether the matrix only grew, which leaves what was played as it is."""
    if name in {"variants", "seeds"} and isinstance(before, list):
        return set(before) <= set(now)
    if name in {"stories", "walkthroughs", "hints"} and isinstance(before, dict):
        return all(now.get(game) == it for game, it in before.items())
    return name == "episodes" and isinstance(before, int) and before <= now
