"""The reference of the library is that of its docstrings."""

from scripts.api_reference import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "Write it anew with: uv run python scripts/api_reference.py"
    )


def test_nothing_public_is_without_a_word() -> None:
    described = page()
    assert "### class Ghost" in described
    assert "async def mcp_ghost(" in described
