"""What the command line does: rebuild, show, export, import, forget."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self

from mcp_ghost.text import counted, plain
from session.game_configuration import ConfigurationError, GameConfiguration
from session.game_state import ENDINGS
from session.knowledge import Edits
from session.record.event_log import EVENTS_FILE
from storage.database import sqlite_path
from storage.episode_knowledge import Episode, read_imports
from storage.errors import LogRefusedError, StorageError
from storage.files.knowledge_files import KnowledgeFiles, log_import
from storage.files.markdown import EDITOR, SECTIONS, normal, section_of
from storage.store import Store


class Known(NamedTuple):
    """A story, and who learned of it."""

    story: str
    sha256: str
    episodes: tuple[Episode, ...]
    """Those in which people wrote are not among them."""


class Commands:
    """The commands on one database, which is closed at the end."""

    def __init__(self, config: GameConfiguration, command: str) -> None:
        """Open the configured database; only ``rebuild`` makes a new one."""
        path = sqlite_path(config)
        if command != "rebuild" and path and not path.exists():
            raise StorageError(
                f"Nothing is known yet: there is no {path}. Play an episode, choose another folder "
                "with --workdir, or build it from the logs: uv run python -m storage rebuild"
            )
        if path and not path.parent.is_dir():
            raise StorageError(f"There is no folder {path.parent}: name another with --workdir.")
        self._config = config
        self._workdir = Path(config.workdir)
        self._store = Store(config)
        self._files = KnowledgeFiles(config, self._store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._store.close()

    def rebuild(self) -> bool:
        """Read every log again, and rewrite the Markdown."""
        left_out = taken_in = 0
        for log in sorted((self._workdir / "episodes").glob(f"*/{EVENTS_FILE}")):
            try:
                taken_in += self._store.take_in_log(log.parent) is not None
            except LogRefusedError as error:
                _warn(f"left out: {error}")
                left_out += 1
        try:
            for account in read_imports(self._files.folder):
                self._store.put(account)
        except LogRefusedError as error:
            _warn(f"left out: {error}")
            left_out += 1
        print(f"Read {counted(taken_in, 'episode')} from {self._workdir / 'episodes'}.")
        others = sum(len(known.episodes) for known in self._known(None)) - taken_in
        if others > 0:
            print(f"{counted(others, 'episode')} without logs here were left as they are.")
        return self.write_all() and not left_out

    def show(self, story: str | None, *, as_json: bool) -> bool:
        """Print what is known."""
        found = list(self._known(story))
        if as_json:
            print(json.dumps([self._json(known) for known in found], indent=2))
            return True
        for known in found:
            print(plain("\n".join(self._lines(known))))
        if not found:
            print("Nothing is known yet.")
        return True

    def forget(self, episode: str | None, story: str | None, *, sure: bool) -> bool:
        """Remove an episode, or all of a story, from the database."""
        every = self._store.episodes()
        if episode is not None:
            chosen = [it for it in every if episode in {it.uid, it.episode_id}]
            if not chosen:
                raise ConfigurationError(
                    f"There is no episode {episode}. See: uv run python -m storage show"
                )
        else:
            stories = {known.sha256 for known in self._known(story)}
            chosen = [it for it in every if it.story_sha256 in stories]
        names = ", ".join(it.episode_id for it in chosen)
        if not sure:
            raise ConfigurationError(f"This would forget everything learned in {names}. Add --yes.")
        self._store.forget(it.uid for it in chosen)
        print(plain(f"Forgot {names}."))
        print(f"Logs stay in {self._workdir}: delete them too, or the next rebuild will read them.")
        places = {(it.story, it.story_sha256) for it in chosen}
        written = [self._write(*place) for place in sorted(places)]
        return all(written)

    def _known(self, story: str | None) -> Iterator[Known]:
        """Yield the stories that ``story`` means; all of them when it is None."""
        story = {"bundled": "weatherworks"}.get(story or "", story)
        episodes = self._store.episodes()
        stories = {it.story_sha256: it.story for it in episodes}
        wanted = {
            sha256: name
            for sha256, name in stories.items()
            if story is None or name == story or (len(story) >= 6 and sha256.startswith(story))
        }
        if story is not None and not wanted:
            names = ", ".join(sorted(set(stories.values()))) or "none"
            raise ConfigurationError(f"Nothing is known about {story}. Known stories: {names}.")
        for sha256, name in wanted.items():
            own = (it for it in episodes if it.story_sha256 == sha256 and it.model != EDITOR)
            yield Known(name, sha256, tuple(own))

    def write_all(self, story: str | None = None) -> bool:
        """Write the Markdown of a story, or of all."""
        written = [self._write(known.story, known.sha256) for known in self._known(story)]
        return all(written)

    def _write(self, story: str, sha256: str) -> bool:
        try:
            path = self._files.path(story, sha256)
            written = self._files.write(story, sha256)
        except StorageError as error:
            _warn(str(error))
            return False
        if written and path.exists():
            print(f"Wrote {path}")
        elif written:
            print(f"Nothing has been learned about {story} yet, so there is nothing to write.")
        else:
            _warn(
                f"{path} contains edits and was left as it is. To read them: "
                "uv run python -m storage import"
            )
        return written

    def read_back(self, story: str | None) -> bool:
        """Store what people changed in the Markdown of a story, or of all."""
        done = True
        for known in self._known(story):
            name, sha256 = known.story, known.sha256
            path = self._files.path(name, sha256)
            for number in self._files.odd_lines(name, sha256):
                _warn(f"{path}, line {number} is not a claim: it is kept under Notes")
            edits = self._files.read_edits(name, sha256)
            if edits == Edits():
                print(f"{path}: nothing was changed")
            else:
                secrets = self._config.secrets
                self._store.put(log_import(self._files.folder, edits, name, sha256, secrets))
                new, changed = counted(len(edits.claims), "new claim"), len(edits.changes)
                print(f"{path}: {new}, {counted(changed, 'change')}")
            done &= self._write(name, sha256)
        return done

    def _json(self, known: Known) -> dict[str, Any]:
        learned = self._store.carried_over(known.sha256).model_dump(mode="json")
        claims = self._store.claims(known.sha256)
        return {
            "story": known.story,
            "story_sha256": known.sha256,
            "episodes": [asdict(episode) for episode in known.episodes],
            "claims": [claim.model_dump(mode="json") for claim in claims],
            "memories": learned["memories"],
            "passages": learned["passages"],
        }

    def _lines(self, known: Known) -> Iterator[str]:
        claims = self._store.claims(known.sha256)
        memories = self._store.carried_over(known.sha256).memories
        yield f"{known.story} ({known.sha256[:8]}): {counted(len(known.episodes), 'episode')}"
        for it in known.episodes:
            score = "no score" if it.score is None else f"score {it.score}"
            ended = ENDINGS.get(it.end_reason or "interrupted", it.end_reason)
            so_far = f"{counted(it.turns, 'turn')}, {score}, {ended}"
            yield f"  {it.uid}  {it.episode_id}: {it.model}, {so_far}"
        for section in SECTIONS:
            chosen = [claim for claim in claims if section_of(claim) == section]
            yield f"{section.capitalize()}: {counted(len(chosen), 'claim')}"
            yield from (f"  {claim.id}  {normal(claim.text)}" for claim in chosen)
        yield f"Memories: {len(memories)}"
        for memory in sorted(memories, key=lambda memory: memory.room.id):
            room, what = normal(memory.room.name), f"{memory.title}: {memory.text}"
            yield f"  {room} ({memory.room.id}): {normal(what)}"


def _warn(message: str) -> None:
    sys.stdout.flush()  # so that lines come in order
    print(plain(f"storage: {message}"), file=sys.stderr)
