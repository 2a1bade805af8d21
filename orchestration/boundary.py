"""Between the machine's truth and whoever plays: what does not pass here, nobody is told."""

from dataclasses import replace

from game_interface import Exit, Facts, Thing, Vocabulary
from players.player import Player
from session.game_state import FailedTurn, GameState, Hint, Observation, TurnRecord
from session.knowledge import CarriedOver, Reflection
from session.levels import ObservationLevel
from session.perception.perception import Perception


class Boundary:
    """Tells the player of an episode, up to a level; keeps the episode as the player knows it."""

    def __init__(self, level: ObservationLevel, episode_id: str) -> None:
        self.state = GameState(episode_id)
        """The episode so far, as far as it was told."""
        self.perception = Perception(level)
        self._player = Player()

    def begin(
        self, player: Player, opening: str, observation: Observation, carried: CarriedOver
    ) -> None:
        """Tell how the game begins, and what earlier episodes passed on."""
        told = self.perception.begin(opening, observation)
        self.state.begin(opening, told)
        self._player = player
        player.begin(opening, told, carried)

    def take_in(self, step: TurnRecord | FailedTurn | Reflection | Hint) -> None:
        """Tell of a turn, of what looking back yielded, or what a watcher says."""
        if isinstance(step, Hint):
            self.state.hear(step)
        elif isinstance(step, FailedTurn):
            self.state.fail(step)
        elif isinstance(step, TurnRecord):
            told = self.perception.apply(step)
            self.state.apply(told)
            self._player.take_in(told)
        else:
            self._player.learn(step)

    def facts(self, facts: Facts, vocabulary: Vocabulary) -> Facts:
        """Cut ``facts`` down to what was told: what the game's words named, and what was tried."""
        seen = self.state.observation
        known = {vocabulary.cut(word) for word in self.perception.names}
        carried = seen.inventory
        return replace(
            facts,
            room_id=seen.room_id,
            room_name=seen.room.name if seen.room else "",
            score=seen.score,
            max_score=seen.max_score,
            moves=seen.moves,
            inventory=None if carried is None else tuple(Thing(0, *it) for it in carried),
            visible=tuple(Thing(0, *it) for it in seen.visible),
            exits=tuple(
                Exit(
                    way.direction,
                    way.room.id if way.room else None,
                    way.room.name if way.room else None,
                    "blocked" if way.kind == "blocked" else "open",
                )
                for way in self.perception.ways(seen.room_id)
            ),
            dark=seen.dark,
            deaths=self.state.deaths,
            world_hash=seen.world_hash,
            absent_words=facts.absent_words & known,
        )
