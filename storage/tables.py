"""The tables: episodes, and what each of them learned, every row with the uid of its episode.

What was learned is kept as the JSON of ``session.knowledge``, beside the few columns that are asked
for, so that a new field there needs no new table here.
"""

from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

from session.levels import ObservationLevel

METADATA = MetaData()
BEFORE_LEVELS = ObservationLevel.FACTS_EXITS
"""The level of what was learned before there were levels: all of them told less."""
AT_EVERY_LEVEL = ""
"""The level of what people wrote."""

EPISODES = Table(
    "zorkgpt_episodes",
    METADATA,
    Column("uid", String(40), primary_key=True),
    Column("episode_id", Text, nullable=False),
    Column("story_sha256", String(64), nullable=False),
    Column("story", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("seed", Integer),
    Column("started", String(40), nullable=False),
    Column("turns", Integer, nullable=False),
    Column("score", Integer),
    Column("end_reason", String(40)),
    Column("level", String(20), nullable=False, server_default=str(BEFORE_LEVELS)),
)


def _learned(name: str, *columns: Column[Any]) -> Table:
    """Define a table of values in the order in which the episode learned them."""
    return Table(
        f"zorkgpt_{name}",
        METADATA,
        Column("uid", ForeignKey(EPISODES.c.uid, ondelete="CASCADE"), primary_key=True),
        Column("reflection", Integer, primary_key=True),  # 0: at its beginning
        Column("position", Integer, primary_key=True),
        *columns,
        Column("body", Text, nullable=False),
    )


MEMORIES = _learned("memories", Column("id", String(60)), Column("persistence", String(20)))
MEMORY_CHANGES = _learned("memory_changes", Column("id", String(60)))
CLAIMS = _learned("claims", Column("id", String(60)))
CLAIM_CHANGES = _learned("claim_changes", Column("id", String(60)))
PASSAGES = _learned("passages", Column("direction", Text))
SCORES = _learned("scores", Column("points", Integer))

OF_REFLECTIONS = {
    "memories": MEMORIES,
    "memory_changes": MEMORY_CHANGES,
    "claims": CLAIMS,
    "claim_changes": CLAIM_CHANGES,
}
"""Field of a Reflection -> where it is kept."""
OF_EDITS = {"claims": CLAIMS, "changes": CLAIM_CHANGES}
"""The same for Edits."""

Index("zorkgpt_episodes_order", EPISODES.c.story_sha256, EPISODES.c.started, EPISODES.c.uid)
