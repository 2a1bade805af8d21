"""What outlives an episode: one database, derived from the event logs."""

import python_version  # noqa: F401
