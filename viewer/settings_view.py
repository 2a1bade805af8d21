"""How an episode was set: who played what, every setting beside its default, the prompts."""

from pydantic_core import to_jsonable_python

from mcp_ghost.results import JSONObject
from session.game_configuration import GameConfiguration
from session.record.schema import EpisodeResumed, EpisodeStart
from session.record.summary import where


def settings_json(start: EpisodeStart, resumed: EpisodeResumed | None, line: str) -> JSONObject:
    """Return the settings in force, from how it began, how it last went on, and its first line."""
    latest = resumed or start
    model, base_url = latest.model or start.model, latest.base_url or start.base_url
    facts = {
        "Story": start.title or start.story,
        "Story file": start.story_address or start.story_path,
        "Its SHA-256": start.story_sha256,
        "Engine": start.engine,
        "Seed": "" if start.seed is None else str(start.seed),
        "Not readable": ", ".join(start.unknown),
        "Player": start.player,
        "Model": f"{model} {where(base_url)}" if start.asks_a_model and base_url else model,
        "Tool server": start.mcp,
        "Branched from": f"{start.trunk}, turn {start.forked_at or 0}" if start.trunk else "",
        "ZorkGPT": start.version,
        "Code": latest.code or start.code,
    }
    return {
        "facts": [[name, value] for name, value in facts.items() if value],
        "settings": [
            {
                "name": name,
                "value": value,
                "default": _default(name),
                "before": start.settings.get(name) if resumed else value,
            }
            for name, value in {**start.settings, **latest.settings}.items()
        ],
        "prompts": latest.prompts or start.prompts,
        "line": line,
    }


def _default(name: str) -> object:
    """Return a setting's default today; None where it is gone, too."""
    field = GameConfiguration.model_fields.get(name)
    return to_jsonable_python(field.get_default(call_default_factory=True)) if field else None
