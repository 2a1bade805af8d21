"""The choice between the interpreters: which one plays a story."""

from contextlib import suppress
from importlib.util import find_spec

from game_interface.engines.engine import Engine, EngineChoice
from game_interface.errors import EngineUnavailableError
from game_interface.machine.memory import StoryImage


def start_engine(choice: EngineChoice, image: StoryImage, seed: int, *, profiled: bool) -> Engine:
    """The engine for a story.

    "auto" is jericho where it is installed and its text is known to come out clean: it mixes the
    status line of stories of version 4 and later into their answers. Else it is fernz.

    Raises: EngineUnavailableError for jericho where it is not installed or cannot be loaded.
    """
    if choice == "jericho":
        return _start_jericho(image, seed)
    if choice == "auto" and (image.version == 3 or profiled) and find_spec("jericho"):
        with suppress(EngineUnavailableError):
            return _start_jericho(image, seed)
    from game_interface.engines.fernz_engine import FernzEngine

    return FernzEngine(image, seed)


def _start_jericho(image: StoryImage, seed: int) -> Engine:
    try:
        from game_interface.engines.jericho_engine import JerichoEngine

        return JerichoEngine(image, seed)
    except ImportError as error:
        raise EngineUnavailableError(
            "the engine 'jericho' is not installed; run `uv sync --extra jericho`, "
            "or choose the engine 'fernz'"
        ) from error
    except OSError as error:  # it loads a copy of its library from the temporary folder
        raise EngineUnavailableError(
            f"the engine 'jericho' cannot be loaded ({error}); point TMPDIR at a folder that "
            "allows programs, or choose the engine 'fernz'"
        ) from error
