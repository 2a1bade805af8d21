"""Which code plays."""

from pathlib import Path

import pytest

from session.version import code_digest


def test_a_program_with_another_table_is_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of games and servers are kept as TOML beside the code that reads them."""
    package = tmp_path / "plays_with_tables"
    package.mkdir()
    (package / "__init__.py").write_text("")
    digests = []
    monkeypatch.syspath_prepend(tmp_path)
    for words in ("lamp", "lamp torch"):
        (package / "words.toml").write_text(f'lights = "{words}"')
        code_digest.cache_clear()
        digests.append(code_digest((package.name,)))
    assert digests[0] != digests[1]
