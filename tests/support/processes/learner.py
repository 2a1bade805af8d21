"""Processes that learn side by side: each reflection is logged, then stored, then said to be.

Run as ``python -m tests.support.processes.learner WORKDIR REFLECTIONS DATABASE_URL UID...``,
with ``-`` for the usual database. Each process says what is stored
in a file with the name of its uid.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from storage.store import Store
from tests.support.stored import LoggedEpisode, configuration, confirmed, reflection, walk


def learn(workdir: Path, count: int, url: str | None, uid: str) -> None:
    episode = LoggedEpisode(workdir, uid)
    with (
        Store(configuration(workdir, url)) as store,
        (workdir / uid).open("w", buffering=1) as said,
    ):
        store.take_in_log(episode.folder)
        os.write(1, b"begins\n")
        for number in range(1, count + 1):
            others = (confirmed("shared-c1", uid, number),)
            learned = reflection(uid, number, claim_changes=others)
            episode.add(*walk(1, 2, 3), learned)
            store.take_in(uid, learned)
            said.write(f"{number}\n")
        store.take_in_log(episode.end().folder)


def main() -> None:
    workdir, count, url, *uids = sys.argv[1:]
    children = []
    for uid in uids:
        if (child := os.fork()) == 0:
            try:
                learn(Path(workdir), int(count), None if url == "-" else url, uid)
            except BaseException:  # noqa: BLE001  the edge of the process
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
        os.write(1, f"{child}\n".encode())
    sys.exit(max([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]))


if __name__ == "__main__":
    main()
