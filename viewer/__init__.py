"""Episodes to look at: pages, replay, index and plots, all made from event logs."""

import python_version  # noqa: F401
