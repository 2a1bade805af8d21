"""The form in which a model answers when it looks back at its latest turns."""

from collections.abc import Iterable
from typing import get_args

from pydantic import BaseModel, ValidationError

from session.knowledge import MemoryCategory, Persistence
from shared_utils import extract_json


class MemoryProposal(BaseModel):
    """Something to remember about the room of the cited turn."""

    turn: int
    category: MemoryCategory
    title: str
    text: str
    persistence: Persistence
    tentative: bool = False
    supersedes: list[str] = []
    """Ids of memories that this one replaces."""


class MemoryRevision(BaseModel):
    """A memory that turned out to be wrong."""

    id: str
    turn: int
    reason: str


class ObjectiveProposal(BaseModel):
    """Something worth achieving that the cited turn shows."""

    turn: int
    text: str
    room_id: int | None = None
    needs: list[str] = []
    goal_room_id: int | None = None
    goal_item: str | None = None
    goal_score: int | None = None


class ObjectiveRevision(BaseModel):
    """An objective that is achieved, or no longer worth pursuing."""

    id: str
    turn: int
    completed: bool
    reason: str


class ClaimProposal(BaseModel):
    """A rule of the game's world that the cited turn shows or suggests."""

    turn: int
    text: str
    quote: str
    tested: bool


class ClaimRevision(BaseModel):
    """A known claim that the cited turn confirms or contradicts."""

    id: str
    turn: int
    quote: str
    confirmed: bool
    reason: str


class ReflectionAnswer(BaseModel):
    """Everything that one look back yields; most lists are empty most of the time."""

    memories: list[MemoryProposal] = []
    wrong_memories: list[MemoryRevision] = []
    objectives: list[ObjectiveProposal] = []
    ended_objectives: list[ObjectiveRevision] = []
    claims: list[ClaimProposal] = []
    judged_claims: list[ClaimRevision] = []
    summary: str | None = None
    """Of the turns that were to be summed up, if any were."""


def read_reflection(content: str, dropped: list[str]) -> ReflectionAnswer:
    """Return the answer in ``content`` without malformed items; why they are goes to ``dropped``.

    Raises:
        ValueError: There is no object with any of the lists.
    """
    found = extract_json(content)
    if found is None:
        raise ValueError("no JSON object")
    if not found.keys() & ReflectionAnswer.model_fields.keys():
        raise ValueError("a JSON object with none of the lists")
    lists: dict[str, list[BaseModel]] = {}
    for name, field in ReflectionAnswer.model_fields.items():
        if name != "summary":
            (form,) = get_args(field.annotation)
            lists[name] = list(_items(name, form, found.get(name), dropped))
    said = found.get("summary")
    summary = said.strip() if isinstance(said, str) else None
    return ReflectionAnswer.model_validate({**lists, "summary": summary or None})


def _items(
    name: str, form: type[BaseModel], found: object, dropped: list[str]
) -> Iterable[BaseModel]:
    if not isinstance(found, list | None):
        dropped.append(f"{name}: not a list")
        return
    for position, item in enumerate(found or ()):
        # Null stands for "none given", also where the form has another word for it.
        given = {k: v for k, v in item.items() if v is not None} if isinstance(item, dict) else item
        try:
            yield form.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join([f"{name}[{position}]", *map(str, first["loc"])])
            dropped.append(f"{where}: {first['msg']}")
