"""The mapped profile: any server, driven by its own tools as a file maps them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from shop_server import ShopServer
from typer.testing import CliRunner

from mcptasks.conformance import check_server
from mcptasks.conformance.cli.app import app
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.wire.mapping import read_mapping
from mcptasks.conformance.wire.sample_arguments import sample_arguments
from mcptasks.conformance.wire.trying import Found, mapping_text
from mcptasks.fixtures.gallery.registry import Variant
from mcptasks.fixtures.gallery.server_base import start_entry

SHOP = Variant("shop", "A server with tools of its own.", "Tools are the server's.", (), ShopServer, kind="server")


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with start_entry(SHOP) as server:
        yield server.url


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return int(done.return_value or 0), done.output


def test_init_proposes_what_the_tools_were_seen_to_do(shop: str, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    code, output = run("init", "--url", shop, "--out", str(file), "--wait", "4")
    assert code == 0
    assert "burn: makes a task that completes with isError" in output
    roles = {role: tool["name"] for role, tool in read_mapping(file).items()}
    assert roles == {
        "tool_error": "burn",
        "fails": "explode",
        "asks": "order",
        "asks_more": "survey",
        "completes": "bake",
        "plain": "menu",
    }
    with pytest.raises(UsageError, match="is there already"):
        run("init", "--url", shop, "--out", str(file))


def test_a_lawful_server_with_tools_of_its_own_is_not_accused(shop: str, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(
        """
[tools]
completes = {name = "bake", arguments = {seconds = 0.05}, repeatable = true}
runs_long = {name = "bake", arguments = {seconds = 20}}
tool_error = {name = "burn", repeatable = true}
fails = {name = "explode", repeatable = true}
asks = {name = "order", arguments = {filename = "cake"}}
plain = {name = "menu", arguments = {name = "mcptasks"}}
"""
    )
    report = check_server(shop, profile=file, select=("tasks.status.*", "tasks.update.*", "tasks.create.*"))
    assert not report.findings, report
    assert report.exit_code == 0
    passed = {item.id for item in report.requirements if item.verdict == "pass"}
    assert passed >= {"tasks.status.terminal-final", "tasks.update.effect", "tasks.status.result-exact"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tools = {", "no TOML"),
        ("", "tools: Field required"),
        ('[tools.bakes]\nname = "x"', "tools.bakes: Extra inputs are not permitted"),
        ("[tools.completes]\nname = 3", "tools.completes.name: Input should be a valid string"),
        ('[tools.plain]\nname = "x"', "it names no tool that makes a task"),
    ],
)
def test_a_wrong_file_gets_one_clear_line(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=told) as raised:
        check_server("http://127.0.0.1:9/mcp", profile=str(file))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_and_a_tool_that_is_not_offered(shop: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        check_server(shop, profile=tmp_path / "none.toml")
    file = tmp_path / "map.toml"
    file.write_text('[tools.completes]\nname = "no_such_tool"\n')
    with pytest.raises(UsageError, match="names the tool 'no_such_tool', which the server does not offer"):
        check_server(shop, profile=file)


def test_arguments_are_made_from_a_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 12},
            "count": {"type": "integer", "minimum": 3},
            "kind": {"enum": ["a", "b"]},
            "when": {"type": ["string", "null"], "format": "date"},
            "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
            "optional": {"type": "string"},
            "odd": {"type": "object", "properties": {"x": {}}, "required": ["x"]},
        },
        "required": ["name", "count", "kind", "when", "list", "odd", 3],
    }
    assert sample_arguments(schema) == {
        "name": "mcptasksxxxx",
        "count": 3,
        "kind": "a",
        "when": "2026-01-01",
        "list": [False, False],
        "odd": {"x": "mcptasks"},
    }
    for hostile in (None, [], {"type": "array"}, {"required": 3}, {"type": 7, "required": ["a"]}):
        assert isinstance(sample_arguments(hostile), dict)


def test_what_a_server_says_cannot_break_the_file() -> None:
    name = 'x"\n[tools.fails]\nname = "evil'
    text = mapping_text([Found(name, {'a"b': ["\x7f\u2028", None, 1.5, True]}, "did\nit", "completes")], "http://h/mcp")
    assert tomllib.loads(text) == {
        "tools": {"completes": {"name": name, "arguments": {'a"b': ["\x7f\u2028", 1.5, True]}}}
    }
