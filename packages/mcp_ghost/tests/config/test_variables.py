"""What strings of a configuration refer to, and what becomes of every other string."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.config import ServerConfig, load_servers
from mcp_ghost.config.variables import resolved, variables_in, without_variables
from mcp_ghost.errors import MCPConfigError
from tests.support.work import growth

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_characters="${}", codec="utf-8"), max_size=8)
FORMS = st.sampled_from(
    ["${%s}", "${env:%s}", "{env:%s}", "${%s:-else}", "${env:%s:-}", "${%s-else}"]
)
ENVIRONMENTS = st.dictionaries(NAMES, st.text(max_size=12) | st.just("${HOME} {env:HOME} $HOME"))


@given(ENVIRONMENTS.filter(bool), st.data())
def test_every_form_becomes_the_variable_and_nothing_else_changes(
    environ: dict[str, str], data: st.DataObject
) -> None:
    parts = data.draw(
        st.lists(st.tuples(TEXTS, FORMS, st.sampled_from(sorted(environ))), min_size=1)
    )
    text = "".join(before + form % name for before, form, name in parts)
    expected = "".join(before + environ[name] for before, _, name in parts)
    assert resolved(text, environ, "s") == expected
    config = ServerConfig(command="x", args=[text], headers={"X": text + "."}, cwd=text)
    there = config.resolved(environ)
    assert (there.args, there.headers, there.cwd) == ([expected], {"X": expected + "."}, expected)


@given(NAMES, st.text(st.characters(exclude_characters="{}", codec="utf-8")))
def test_a_default_stands_in_for_a_variable_that_is_not_set(name: str, default: str) -> None:
    assert resolved(f"${{{name}-{default}}}", {}, "s") == default
    text = f"<${{{name}:-{default}}}>"
    assert resolved(text, {}, "s") == f"<{default}>"
    assert resolved(text, {name: ""}, "s") == "<>"
    assert list(variables_in(text)) == [(name, default)]
    assert without_variables(f"{text}${{input:{name}}}") == f"<{default}>"


@given(NAMES, FORMS)
def test_a_variable_that_is_not_set_is_an_error_that_names_it_and_the_server(
    name: str, form: str
) -> None:
    if "-" in form:
        return
    with pytest.raises(
        MCPConfigError, match=rf"MCP server 'web' needs .* {name}, which is not set"
    ):
        ServerConfig(url=f"https://x/{form % name}").resolved({}, server="web")


@given(NAMES)
def test_two_dollars_stand_for_the_reference_itself(name: str) -> None:
    assert resolved(f"$${{{name}}}", {name: "value"}, "s") == f"${{{name}}}"
    assert list(variables_in(f"$${{{name}}}")) == []


@given(st.text(st.sampled_from("${}:-env/AB_ 1\n") | st.characters(codec="utf-8")))
def test_any_text_is_resolved_or_refused_with_the_servers_name(text: str) -> None:
    try:
        found = resolved(text, {"A": "a"}, "odd")
    except MCPConfigError as error:
        found = str(error).removeprefix("MCP server 'odd'")
        assert found != str(error)  # noqa: PT017 - it may also be none
    assert found == text or "$" in text or "{env:" in text


@pytest.mark.parametrize(
    "text",
    [
        "$5",
        "cost: $A",
        "${1}",
        "${A#x}",
        "$(A)",
        "a$",
        "${}",
        "{A}",
        "$ {A}",
        "%A%",
        "${A:=b}",
        "$$",
    ],
)
def test_what_is_no_reference_stays_as_it_is(text: str) -> None:
    assert ServerConfig(command="sh", args=["-c", text]).resolved({}).args == ["-c", text]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("$KEY", "k"), ("Bearer $KEY", "Bearer k"), ("pa$KEY", "pa$KEY"), ("$KEY.", "$KEY.")],
)
def test_gemini_clis_short_form_is_read_where_it_is_all_or_the_end(
    value: str, expected: str
) -> None:
    config = ServerConfig(command="x", env={"A": value}, headers={"B": value}, args=[value])
    there = config.resolved({"KEY": "k"})
    assert (there.env, there.headers, there.args) == ({"A": expected}, {"B": expected}, [value])
    assert config.resolved({"KEY": "k"}).env == there.env


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("${input:api-key}", r"needs the input 'api-key'.*such as API_KEY, and write \$\{env:API_"),
        ("${input:1 \n}", r"write \$\{env:SOME_NAME\}"),
        ("${command:pick}", r"refers to \$\{command:pick\}, which only an editor knows"),
        ("${config:python.path}", "only an editor knows"),
        ("${file:/no/such/file}", r"\$\{file:/no/such/file\} cannot be read: .*No such file"),
    ],
)
def test_what_only_an_editor_knows_is_an_error_that_says_what_to_do(
    reference: str, said: str
) -> None:
    config = load_servers({"servers": {"s": {"command": "x", "env": {"KEY": reference}}}})["s"]
    with pytest.raises(MCPConfigError, match=rf"(?s)^MCP server 'ask'.*{said}"):
        config.resolved(server="ask")


def test_a_file_may_hold_the_value(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    entry = {"serverUrl": "https://x/mcp", "headers": {"A": f"Bearer ${{file:{tmp_path}/token}}"}}
    server = load_servers({"mcpServers": {"s": entry}})["s"]
    assert server.resolved().headers == {"A": "Bearer t0ken"}


def test_places_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    file = tmp_path / "project" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    args = "${workspaceFolder}${/}a ${workspaceFolderBasename} ${userHome}${pathSeparator}b"
    file.write_text(
        f'{{"mcpServers": {{"s": {{"command": "x", "args": ["{args} $${{userHome}}"]}}}}}}'
    )
    home = f"{file.parents[1]}/a project /home/ada/b ${{userHome}}"
    assert load_servers(file)["s"].resolved({}).args == [home]


def test_an_env_file_is_under_the_variables_of_the_entry(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text('A=file\nB="two\nlines" # comment\nexport C=${A}\nD\n\nB_ = 1\n')
    (tmp_path / "mcp.json").write_text(
        '{"servers": {"s": {"command": "x", "envFile": ".env", "env": {"A": "entry"}}}}'
    )
    server = load_servers(tmp_path / "mcp.json")["s"]
    assert server.resolved({}).env == {"A": "entry", "B": "two\nlines", "C": "${A}", "B_": "1"}
    assert server.resolved({}).resolved({"A": "x"}).env_file is None
    (tmp_path / ".env").write_bytes(b"\xff")
    with pytest.raises(MCPConfigError, match="'s': its envFile cannot be read"):
        server.resolved(server="s")
    (tmp_path / ".env").unlink()
    with pytest.raises(MCPConfigError, match=rf"envFile cannot be read: .*{tmp_path}/.env"):
        server.resolved()


@pytest.mark.parametrize("part", ["$", "${", "${A:-", "{env:", "$$", "${input:", " $A"])
def test_long_values_are_searched_in_linear_time(part: str) -> None:
    text = "x" + part * 20_000
    assert without_variables(text)
    assert growth(lambda size: [*variables_in(part * size)], 20_000) < 9
