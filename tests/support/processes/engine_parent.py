"""A program that plays a story for the tests: STORY ENGINE SECONDS; says when it plays."""

import sys

from game_interface import open_game

story, engine, seconds = sys.argv[1:]
with open_game(story, engine=engine, turn_timeout_seconds=float(seconds)) as game:  # type: ignore[arg-type]
    game.start()
    print("begun", flush=True)
    for command in sys.stdin:
        print("asked", flush=True)
        game.step(command.strip())
