from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from session.knowledge import Claim, Edits, folded_claims
from storage.files.edits import edits_of, parsed, read_document
from storage.files.markdown import normal, rendered
from tests.support.stored import STORY, claim, memory
from tests.support.work import growth, steps

TESTED = claim("aaaaaa", 1, "Lamps burn out.", basis="tested")
INFERRED = claim("aaaaaa", 2, "Trolls fear [fire].")
RETIRED = claim("aaaaaa", 3, "Doors are shut.", status="retired", reason="one was open")
KNOWN = (TESTED, INFERRED, RETIRED)
SHOWN = memory("aaaaaa", 1, "# A heading?\n<!-- hidden -->")
FILE = rendered("cave", STORY, KNOWN, [SHOWN], ["My own note.", "", "- and a list"])


def edits(text: str, known: tuple[Claim, ...] = KNOWN) -> Edits:
    return edits_of(parsed(text), known)


def changes(text: str, known: tuple[Claim, ...] = KNOWN) -> list[tuple[str, str]]:
    return [(it.id, it.kind) for it in edits(text, known).changes]


def moved(line: str, heading: str, text: str = FILE) -> str:
    """The file with ``line`` and its details below another heading."""
    lines = text.split("\n")
    start = next(number for number, it in enumerate(lines) if line in it)
    end = start + 1
    while lines[end].startswith("  "):
        end += 1
    block = lines[start:end]
    rest = lines[:start] + lines[end:]
    below = rest.index(f"## {heading}") + 2
    return "\n".join([*rest[:below], *block, *rest[below:]])


def after(edited: str, known: tuple[Claim, ...] = KNOWN) -> dict[str, Claim]:
    found = edits(edited, known)
    return {it.id: it for it in folded_claims((*known, *found.claims), found.changes)}


def test_a_file_that_nobody_edited_gives_no_edits() -> None:
    assert edits(FILE) == Edits()
    assert parsed(FILE).notes == ["My own note.", "", "- and a list"]
    assert parsed(FILE).odd == []


def test_no_file_gives_no_edits(tmp_path: Path) -> None:
    assert edits_of(read_document(tmp_path / "none.md"), KNOWN) == Edits()


def test_what_games_say_stays_in_its_line() -> None:
    assert "\n# A heading" not in FILE
    assert " <!-- hidden" not in FILE
    assert r"\<!-- hidden -->" in FILE


def test_a_changed_text_is_an_edit() -> None:
    edited = FILE.replace("Lamps burn out.", "Lamps *never* burn out.")
    assert changes(edited) == [("aaaaaa-c1", "edited")]
    assert after(edited)["aaaaaa-c1"].text == "Lamps *never* burn out."


def test_a_text_wrapped_over_lines_is_one_text() -> None:
    assert edits(FILE.replace("Lamps burn out.", "Lamps\n  burn out.")) == Edits()


def test_a_deleted_line_removes_the_claim() -> None:
    edited = FILE.replace("- Lamps burn out. `aaaaaa-c1`\n", "")
    assert changes(edited) == [("aaaaaa-c1", "removed")]
    assert after(edited)["aaaaaa-c1"].status == "retired"


def test_what_was_learned_after_the_export_is_not_deleted() -> None:
    later = claim("bbbbbb", 1, "Learned later.")
    assert edits(FILE, (*KNOWN, later)) == Edits()


def test_what_the_game_taught_after_the_export_is_not_undone() -> None:
    tested = INFERRED.model_copy(update={"basis": "tested"})
    gone = TESTED.model_copy(update={"status": "retired"})
    assert edits(FILE, (gone, tested, RETIRED)) == Edits()


@pytest.mark.parametrize("section", ["Tested", "Inferred"])
def test_a_new_line_is_a_new_claim(section: str) -> None:
    edited = FILE.replace(f"## {section}\n", f"## {section}\n\n* Read the sign first.\n")
    (new,) = edits(edited).claims
    assert (new.text, new.basis) == ("Read the sign first.", section.lower())
    assert new.id.startswith("editor-c")
    assert [(it.episode, it.turn, it.quote) for it in new.evidence] == [("editor", 0, "")]
    assert edits(edited, (*KNOWN, new)) == Edits()  # read twice, it is there once


def test_two_new_lines_get_ids_of_their_own() -> None:
    edited = FILE.replace("## Tested\n", "## Tested\n- One.\n- Two.\n- one.\n")
    found = edits(edited).claims
    assert [it.text for it in found] == ["One.", "Two."]
    assert len({it.id for it in found}) == 2


def test_a_text_that_was_retired_can_be_claimed_again() -> None:
    edited = FILE.replace("## Tested\n", "## Tested\n- Read it.\n")
    (first,) = edits(edited).claims
    gone = first.model_copy(update={"status": "retired"})
    (second,) = edits(edited, (*KNOWN, gone)).claims
    assert second.text == first.text
    assert second.id != first.id


def test_moving_a_line_changes_what_is_known() -> None:
    up = after(moved("`aaaaaa-c2`", "Tested"))
    assert (up["aaaaaa-c2"].basis, up["aaaaaa-c2"].status) == ("tested", "active")
    assert up["aaaaaa-c2"].evidence[-1].episode == "editor"
    assert after(moved("`aaaaaa-c2`", "Retired"))["aaaaaa-c2"].status == "retired"
    down = after(moved("`aaaaaa-c1`", "Inferred"))
    assert down.pop("aaaaaa-c1").status == "retired"
    assert [it.basis for it in down.values() if it.text == TESTED.text] == ["inferred"]
    again = after(moved("`aaaaaa-c3`", "Tested"))
    active = [it for it in again.values() if it.text == RETIRED.text and it.status == "active"]
    assert [it.basis for it in active] == ["tested"]


@pytest.mark.parametrize("heading", ["Tested", "Inferred", "Retired", "Notes", "Memories"])
def test_a_lost_heading_moves_nothing(heading: str) -> None:
    assert edits(FILE.replace(f"## {heading}\n", "")).changes == ()


def test_without_the_last_line_nothing_counts_as_deleted() -> None:
    cut = FILE[: FILE.index("## Inferred")]
    assert edits(cut) == Edits()
    assert changes(cut.replace("Lamps", "Torches")) == [("aaaaaa-c1", "edited")]


def test_a_lost_id_is_found_by_its_text() -> None:
    assert edits(FILE.replace(" `aaaaaa-c1`", "")) == Edits()


def test_a_copied_line_is_a_new_claim_and_leaves_the_old_one() -> None:
    edited = FILE.replace(
        "- Lamps burn out. `aaaaaa-c1`",
        "- Torches burn out. `aaaaaa-c1`\n- Lamps burn out. `aaaaaa-c1`",
    )
    found = edits(edited)
    assert found.changes == ()
    assert [it.text for it in found.claims] == ["Torches burn out."]


def test_what_is_written_below_a_retired_claim_becomes_a_note() -> None:
    line = next(line for line in FILE.split("\n") if RETIRED.id in line and line.startswith("- "))
    document = parsed(FILE.replace(line, f"{line}\n  Still true upstairs."))
    assert edits_of(document, KNOWN) == Edits()
    assert document.notes[0].strip() == "Still true upstairs."


def test_odd_lines_are_named_and_kept() -> None:
    edited = FILE.replace("## Inferred", "What is this?\n\n## Inferred\n### A heading").replace(
        "  - because:", "  - why?\n  - because:"
    )
    document = parsed(edited)
    assert edits_of(document, KNOWN) == Edits()
    lines = edited.split("\n")
    assert [lines[number - 1] for number in document.odd] == [
        "What is this?",
        "### A heading",
        "  - why?",
    ]
    again = parsed(rendered("cave", STORY, KNOWN, [SHOWN], document.notes))
    assert again.notes == document.notes
    assert again.odd == []


def many(number: int) -> tuple[Claim, ...]:
    return tuple(claim("aaaaaa", it, f"Lamp {it} burns.", basis="tested") for it in range(number))


def without_ids(number: int) -> str:
    lines = rendered("cave", STORY, many(number), []).split("\n")
    return "\n".join(it.rpartition(" `")[0] if it.startswith("- ") else it for it in lines)


@pytest.mark.parametrize(
    "text",
    [
        without_ids,
        lambda number: "## Tested\n" + "".join(f"- new {it}\n" for it in range(number)),
        lambda number: "## Tested\n- a\n" + "  more `a-c1`\n" * number,
        lambda number: "## Retired\n- - a `a-c1`\n" + "  more `a-c1`\n" * number,
    ],
)
def test_the_work_grows_with_the_length_of_the_file(text: Callable[[int], str]) -> None:
    def work(number: int) -> int:
        known, document = many(number), parsed(text(number))
        return steps(lambda: edits_of(document, known))

    assert work(800) < 9 * work(200)
    assert growth(lambda number: parsed(text(number)), 500) < 9


def test_a_long_line_is_read_in_time_that_grows_with_it() -> None:
    assert growth(lambda size: parsed("- a" + " " * size + "b"), 4000) < 9


any_text = st.text(max_size=60)
claims = st.lists(
    st.tuples(any_text, st.sampled_from(["tested", "inferred"]), st.booleans()), max_size=5
)


def made(found: list[tuple[str, str, bool]]) -> tuple[Claim, ...]:
    texts: set[str] = set()
    made_up: list[Claim] = []
    for number, (text, basis, retired) in enumerate(found, 1):
        status = "retired" if retired else "active"
        if normal(text) not in texts:
            texts.add(normal(text))
            changed: dict[str, Any] = {"basis": basis, "status": status, "reason": text}
            made_up.append(claim("aaaaaa", number, text, **changed))
    return tuple(made_up)


@pytest.mark.fuzz
@given(claims, any_text, any_text)
def test_whatever_texts_hold_they_are_read_as_they_were_written(
    found: list[tuple[str, str, bool]], said: str, name: str
) -> None:
    known = made(found)
    shown = memory("aaaaaa", 1, said, title=said)
    text = rendered(name, STORY, known, [shown])
    document = parsed(text)
    assert edits_of(document, known) == Edits()
    assert document.notes == []
    assert {it.id: it.text for it in document.bullets} == {it.id: normal(it.text) for it in known}


@pytest.mark.fuzz
@given(claims, any_text)
def test_whatever_people_write_into_a_claim_is_read(
    found: list[tuple[str, str, bool]], text: str
) -> None:
    known = made(found)
    rewritten = tuple(it.model_copy(update={"text": f"{text} {it.id}"}) for it in known)
    assume(all(normal(it.text) for it in rewritten))  # else there is nothing to be read
    before, edited = rendered("cave", STORY, known, []), rendered("cave", STORY, rewritten, [])
    mark = before[before.rindex("<!--") :]
    found_edits = edits_of(parsed(edited[: edited.rindex("<!--")] + mark), known)
    assert {it.id: it.text for it in found_edits.changes} == {
        it.id: normal(it.text) for it in rewritten if normal(it.text) != normal(_of(known, it.id))
    }


def _of(known: tuple[Claim, ...], claim_id: str) -> str:
    return next(it.text for it in known if it.id == claim_id)


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """The file with lines deleted, cut and written by hand."""
    lines = FILE.split("\n")
    for number in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["delete", "cut", "write"])):
            case "delete":
                del lines[at]
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "write":
                words = draw(st.text("abc #-*`[]<>!\\", max_size=12))
                lines.insert(at, f"{words}written{number}")
    return "\n".join(lines)


@pytest.mark.fuzz
@given(mangled())
def test_however_a_file_is_mangled_what_people_wrote_is_kept(text: str) -> None:
    document = parsed(text)
    found = edits_of(document, KNOWN)
    known = folded_claims((*KNOWN, *found.claims), found.changes)
    again = rendered("cave", STORY, known, [SHOWN], document.notes)
    assert edits(again, known) == Edits()
    for number in range(4):
        if f"written{number}" in text:
            assert f"written{number}" in again


@st.composite
def garbled(draw: st.DrawFn) -> bytes:
    """The file with other bytes at some places, as an editor or a disk leaves it."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    data = bytearray(FILE.encode(encoding, errors="replace"))
    marks = [b"\n", b"## Tested\n", b"- ", b"`aaaaaa-c1`", b"<!-- zorkgpt: {", b"]}}", b"\xff"]
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        junk = st.sampled_from(marks) | st.binary(max_size=8)
        data[at : at + draw(st.integers(0, 40))] = draw(junk)
    return bytes(data)


@pytest.mark.fuzz
@given(garbled())
def test_whatever_bytes_a_file_holds_it_is_read_and_settles_at_once(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cave.md"
        path.write_bytes(data)
        document = read_document(path)
    found = edits_of(document, KNOWN)
    known = folded_claims((*KNOWN, *found.claims), found.changes)
    again = rendered("cave", STORY, known, [SHOWN], document.notes)
    assert edits(again, known) == Edits()
