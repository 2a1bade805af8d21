"""How episodes were played, according to their logs: no setting or promise is taken for a fact."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.agreement import portable, short
from mcp_ghost.messages import Usage
from mcp_ghost.text import counted, dollars
from orchestration.parts import PARTS
from session.game_state import TurnRecord
from session.playing import GUEST
from session.record.fold import EpisodeFold
from session.record.schema import Entry, EpisodeResumed, EpisodeStart, ModelCall

SERVED = "model as served"
SCRIPT = "scripted_model.py"
"""The model that the replies of ``workshop/scripted_model.py`` name."""
GUEST_NAME = "guest"
"""The fact that says what a guest calls itself."""
_OF_VARIANTS = {
    *("without", "mcp_servers", "player_name", "player_commands", "player_seed", "agent_seed"),
    *(part.setting for part in PARTS.values()),
}
"""Settings in which variants are meant to differ."""
_OF_GAMES = {"story", "engine"}
"""Facts in which the games of a suite are."""


class Provenance(EpisodeFold):
    """What one episode's events say of who and what played it."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: defaultdict[str, set[str]] = defaultdict(set)
        """Name -> every value that the log has; more than one where it changed on the way."""
        self.billed = Usage()
        """What all replies took, those included that were empty or of a turn that was lost."""
        self.requests = self.failed_requests = self.refused_proposals = self.set_back = 0
        self.moves: int | None = None
        """As the game counts them; of all games, where it was begun anew."""
        self.moves_known = True
        """Whether the game told its count after every turn."""
        self._moves_before = 0
        """Those of the games before this one."""

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        super().take(entry)
        forked_at = self.start.forked_at if self.start else None
        match event := entry.event:
            case EpisodeStart():
                if forked_at is None:  # else the trunk's program is not that of the branch
                    self._program(event)
                self._note("version", event.version)
                self._note("engine", event.engine)
                self._note("story", event.story_sha256)
                self._note("player", event.player)
                self.moves = event.observation.moves
            case EpisodeResumed() if event.turn >= (forked_at or 0):
                self._program(event)
            case ModelCall() if forked_at is None or (event.turn or 0) > forked_at:
                self.failed_requests += len(event.tries)
                self.requests += len(event.tries) + (event.reply is not None)
                self.billed += sum((failed.usage for failed in event.tries), Usage())
                if event.reply:
                    self.billed += event.reply.spent
                    self._note(SERVED, event.reply.model)
            case TurnRecord():
                self.refused_proposals += len(event.refused)
                led_to, now = event.outcome.moves, event.after.moves
                if led_to is None or now is None:
                    self.moves, self.moves_known = None, False
                    return
                so_far = self._moves_before + led_to
                self.set_back += so_far < (self.moves or 0)
                if event.ended:  # a game that was taken back counts from its own moves
                    self._moves_before = so_far - (now if event.restored else 0)
                self.moves = self._moves_before + now

    @property
    def by_a_guest(self) -> bool:
        """Whether a guest played, of whose models nothing is on record."""
        return GUEST_NAME in self.facts

    def _program(self, event: EpisodeStart | EpisodeResumed) -> None:
        by_a_guest = event.settings.get("player_name") == GUEST
        self._note(GUEST_NAME if by_a_guest else "model", event.model)
        self._note("endpoint", event.base_url)
        self._note("code", event.code)
        self._note("turns", "" if event.max_turns is None else str(event.max_turns))
        for name, digest in event.prompts.items():
            self._note(f"prompt {name}", digest)
        for name, value in portable(event.settings).items():
            if name not in _OF_VARIANTS:
                self._note(f"setting {name}", json.dumps(value, sort_keys=True))

    def _note(self, name: str, value: str) -> None:
        if value:
            self.facts[name].add(value)


def provenance_of(
    episodes: Mapping[str, Provenance], games: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Join what the logs of all ``episodes`` say, ready for JSON; unplayed ones say nothing.

    Those of different ``games`` (episode -> game) may have other stories and engines.
    """
    played = {name: it for name, it in episodes.items() if it.facts}
    union: defaultdict[str, set[str]] = defaultdict(set)
    for it in played.values():
        for name, values in it.facts.items():
            union[name] |= values
    found = {name: sorted(values) for name, values in sorted(union.items())}
    served = found.get(SERVED, [])

    def disagree(name: str) -> bool:
        of_game: defaultdict[str, set[str]] = defaultdict(set)
        for episode, it in played.items():
            game = (games or {}).get(episode, "") if name in _OF_GAMES else ""
            of_game[game] |= it.facts.get(name, set())
        return any(len(values) > 1 for values in of_game.values())

    def setting(name: str) -> list[str]:
        return [json.loads(value) for value in found.get(f"setting {name}", [])]

    return {
        "players": found.pop("player", []),
        "guests": found.pop(GUEST_NAME, []),
        "models_asked": found.get("model", []),
        "models_served": served,
        "endpoints": found.get("endpoint", []),
        "versions": found.get("version", []),
        "code": found.get("code", []),
        "engines": found.get("engine", []),
        "prompts": {
            name.removeprefix("prompt "): values
            for name, values in found.items()
            if name.startswith("prompt ")
        },
        "observation_levels": setting("observation_level"),
        "prior_knowledge": setting("observation_prior_knowledge"),
        "script_played": SCRIPT in served if served else None,
        "hints": {name: it.hints for name, it in played.items() if it.hints},
        "set_back": sum(it.set_back for it in played.values()),
        "moves_unknown": sum(not it.moves_known for it in played.values()),
        "refused_proposals": sum(it.refused_proposals for it in played.values()),
        "requests": sum(it.requests for it in played.values()),
        "failed_requests": sum(it.failed_requests for it in played.values()),
        "cost": sum(it.billed.cost for it in played.values()),
        "disagreements": {
            name: {
                value: [each for each, it in played.items() if value in it.facts.get(name, ())]
                for value in values
            }
            for name, values in found.items()
            if len(values) > 1 and disagree(name)
        },
    }


def said_of(provenance: Mapping[str, Any]) -> str:
    """Say in sentences who and what played."""
    if not provenance["players"]:
        return "No episode has begun."
    players = f"Players: {', '.join(provenance['players'])}."
    if guests := provenance.get("guests"):
        players += f" The player {GUEST} called itself {', '.join(guests)}."
    sentences = [players, _served(provenance)]
    if levels := provenance.get("observation_levels"):  # which earlier logs do not say
        known = ", ".join(provenance["prior_knowledge"])
        sentences.append(
            f"Level of observation: {', '.join(levels)}. "
            f"Use of prior knowledge of the game: {known}."
        )
    if provenance["script_played"]:
        sentences.append("Some or all of the replies came from a script of commands.")
    if back := provenance["set_back"]:
        sentences.append(
            f"A game's count of moves went down {counted(back, 'time')}, as it does when a game is "
            "set back."
        )
    elif unknown := provenance["moves_unknown"]:
        sentences.append(
            f"Whether a game was set back is unknown: {counted(unknown, 'episode')} did not "
            "report the count of moves."
        )
    else:
        sentences.append("No game was set back: the count of moves never went down.")
    sentences += hints_told(provenance)
    for name, where in provenance["disagreements"].items():
        values = "; ".join(
            f"{short(value)} in {counted(len(episodes), 'episode')}"
            for value, episodes in where.items()
        )
        sentences.append(f"THE EPISODES DISAGREE on {name}: {values}.")
    return " ".join(sentences)


def hints_told(provenance: Mapping[str, Any]) -> Iterator[str]:
    """What has to stand beside every figure of episodes in which the player was helped."""
    if hints := provenance.get("hints"):
        yield (
            f"A PERSON GAVE THE PLAYER HINTS in {counted(len(hints), 'episode')} "
            f"({counted(sum(hints.values()), 'hint')}): no figure that includes them is unaided."
        )


def _served(provenance: Mapping[str, Any]) -> str:
    if not provenance["models_asked"]:
        guests = provenance.get("guests")
        return "Its requests to models are not on record." if guests else "No model was asked."
    requests, failed = provenance["requests"], provenance["failed_requests"]
    names = ", ".join(provenance["models_served"])
    if not requests:
        return "No request to a model is on record."
    by = f"The replies came from {names}, according to their server" if names else "No replies came"
    billed = f"; {dollars(cost)} as billed" if (cost := provenance["cost"]) else ""
    return (
        f"{by} ({counted(requests, 'request')}, {failed} of them without a usable reply{billed})."
    )
