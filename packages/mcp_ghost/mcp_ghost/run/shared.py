"""What all parts of one run share."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_ghost.run.conversation import Conversation
from mcp_ghost.run.limits import Deadline
from mcp_ghost.run.pausing.ledger import Ledger
from mcp_ghost.run.report.account import Account
from mcp_ghost.run.report.events import Events
from mcp_ghost.run.report.tracing import Tracing
from mcp_ghost.run.settings import Settings


@dataclass
class Run:
    """One run of ``mcp_ghost()``, or one request to a ``Ghost``."""

    settings: Settings
    conversation: Conversation
    account: Account
    events: Events
    deadline: Deadline
    tracing: Tracing
    ledger: Ledger
