"""A story in an engine: commands in, moments of the game out."""

import base64

from game_interface.child.messages import Moment, Opened
from game_interface.engines.engine import EngineChoice, VmState
from game_interface.engines.starting import start_engine
from game_interface.errors import EngineError, GameError, StoryFormatError
from game_interface.machine.facts import FactsReader
from game_interface.machine.memory import MachineMemory, StoryImage
from game_interface.machine.outcome import died_and_ending
from game_interface.machine.profile import NO_PROFILE, Profile
from game_interface.machine.vocabulary import Vocabulary
from game_interface.snapshot import Progress, Snapshot, decode, encode


class Play:
    """What the process of an engine does; a game may do it in its own process, too."""

    def __init__(
        self, image: StoryImage, profile: Profile | None, choice: EngineChoice, seed: int
    ) -> None:
        """Load the story; without a profile little is known of it."""
        self._image = image
        self._profile = profile or NO_PROFILE
        self._facts = FactsReader(image, self._profile)
        self._seed = seed
        self._progress = Progress()
        self._vm: VmState | None = None
        vocabulary = Vocabulary.of(image)
        # What jericho prints of games that are known by a walkthrough alone may not be clean.
        described = profile is not None and profile.deaths_are_final
        self._engine = start_engine(choice, image, seed, profiled=described)
        self.opened = Opened(self._engine.name, vocabulary)

    def start(self) -> Moment:
        """Begin (again)."""
        try:
            text = self._engine.reset()
            progress = Progress(ending="other" if self._engine.done else None)
            return self._moment(text, self._engine.snapshot(), progress)
        except (EngineError, StoryFormatError) as error:
            raise type(error)(f"the game cannot start: {error}") from error

    def step(self, command: str) -> Moment:
        """Give the game a command; where that fails it stands as before."""
        before = self._vm
        if before is None:
            raise GameError("the game has not begun")
        try:
            text = self._engine.step(command)
            vm = self._engine.snapshot()
            died, ending = died_and_ending(
                self._profile,
                MachineMemory(self._image, before.ram),
                MachineMemory(self._image, vm.ram),
                text,
                quit_=self._engine.done,
            )
            return self._moment(text, vm, Progress(died, ending))
        except (EngineError, StoryFormatError) as error:
            self._engine.restore(before)
            raise type(error)(f"the engine failed at {command!r}: {error}") from error

    def restore(self, data: bytes) -> Moment:
        """Continue from a snapshot."""
        snapshot = decode(data, self._image, self._engine.name)
        self._engine.restore(snapshot.vm)
        self._seed = snapshot.seed
        return self._moment("", snapshot.vm, snapshot.progress)

    def _moment(self, text: str, vm: VmState, progress: Progress) -> Moment:
        memory = MachineMemory(self._image, vm.ram)
        facts = self._facts.read(memory, ending=progress.ending)
        snapshot = encode(Snapshot(self._engine.name, self._seed, progress, vm), self._image)
        self._vm, self._progress = vm, progress
        kept = base64.b64encode(snapshot).decode("ascii")
        return Moment(text, facts, self._seed, progress.died, progress.ending, kept)

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()
