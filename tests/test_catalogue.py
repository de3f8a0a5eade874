"""The catalogue that comes with the package is sound, and a broken one is refused by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mcptasks.conformance.catalogue import NEEDS, Catalogue, CatalogueError, level_rank, load_catalogue
from mcptasks.conformance.catalogue.files import read_yaml

DATA = Path(__file__).parents[1] / "conformance" / "catalogue" / "data"
STORE = "store_2026-07-28.yaml"


def test_the_catalogue_of_the_package_is_sound() -> None:
    load_catalogue().check()


def test_loaded_once() -> None:
    assert load_catalogue() is load_catalogue()


def test_a_store_run_reads_no_file_of_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcptasks.conformance.catalogue import loader

    read: list[str] = []
    real = loader.read_yaml

    def spy(folder: Any, name: str) -> dict[str, Any]:
        read.append(name)
        return real(folder, name)

    monkeypatch.setattr(loader, "read_yaml", spy)
    catalogue = Catalogue(DATA)
    assert catalogue.for_target("store", "2026-07-28")
    assert catalogue["store.get.current"].level == "MUST"
    assert catalogue.select("store.cancel.*")
    assert "store.no.such" not in catalogue
    assert read == ["catalogue.yaml", STORE]


def test_find_by_id() -> None:
    catalogue = load_catalogue()
    entry = catalogue["store.cancel.truth"]
    assert (entry.level, entry.rank, entry.verdict, entry.needs) == ("MUST", 0, "fail", ("concurrency",))
    assert entry.section == "csharp-sdk Server/IMcpTaskStore.cs (609499b), SetCancelledAsync returns"
    assert catalogue.find("store.cancel.nothing") is None
    assert catalogue.find("nonsense") is None
    with pytest.raises(KeyError):
        catalogue["nonsense.id"]


def test_select() -> None:
    catalogue = load_catalogue()
    ids = {entry.id for entry in catalogue.select("store.cancel.*", level="must")}
    assert "store.cancel.truth" in ids
    assert all(key.startswith("store.cancel.") for key in ids)
    assert len(catalogue.select()) == len(catalogue)
    assert len(catalogue.select(["store.get.*", "rpc.*"])) == len(catalogue.select("store.get.*")) + len(
        catalogue.select("rpc.*")
    )
    assert catalogue.select("s*re.get.pure") == (catalogue["store.get.pure"],)
    assert {entry.revision for entry in catalogue.select(revision="store-2025-11-25")} == {"store-2025-11-25"}
    by_level = [len(catalogue.select(level=level)) for level in ("must", "should", "may")]
    assert by_level == sorted(by_level)
    assert len(set(by_level)) == 3
    with pytest.raises(ValueError, match="unknown level 'shall'"):
        catalogue.select(level="shall")


def test_levels() -> None:
    assert [level_rank(level) for level in ("MUST NOT", "should", "may")] == [0, 1, 2]


def test_entries_of_a_target() -> None:
    catalogue = load_catalogue()
    store = catalogue.for_target("store", "2026-07-28")
    assert store == catalogue.for_target("bridge", "2026-07-28")
    assert all(entry.subject == "store" and "wire" not in entry.needs for entry in store)
    server = {entry.id for entry in catalogue.for_target("server", "2026-07-28")}
    assert {"tasks.status.terminal-final", "rpc.version", "http.version-required"} <= server
    assert not any(key.startswith(("store", "tasks25.", "http25.")) for key in server)
    older = {entry.id for entry in catalogue.for_target("server", "2025-11-25")}
    assert {"tasks25.result.blocks", "http25.session-gone"} <= older
    assert "tasks.status.terminal-final" not in older
    with pytest.raises(ValueError, match="unknown revision '2024-01-01'"):
        catalogue.for_target("store", "2024-01-01")


def test_a_target_is_accused_by_the_text_of_its_own_revision() -> None:
    catalogue = load_catalogue()
    for revision, other in (("2025-11-25", "2026-07-28"), ("2026-07-28", "2025-11-25")):
        for entry in (*catalogue.for_target("server", revision), *catalogue.for_target("store", revision)):
            if entry.id != "rpc.server-no-requests":  # of 2026-07-28 alone, and not judged elsewhere
                assert other not in entry.section_in(revision), entry.id
    version = catalogue["rpc.version"]
    assert version.section_in("2025-11-25") == "mcp 2025-11-25 basic/index.mdx, Messages"
    assert version.section_in("2026-07-28") == version.section == "mcp 2026-07-28 basic/index.mdx, Messages"
    assert catalogue["rpc.order-free"].section_in("2025-11-25") == "JSON-RPC 2.0 specification, 6"
    unknown = catalogue["rpc.unknown-members"]
    assert unknown.section_in("2025-11-25") == "mcp schema/2025-11-25/schema.ts, Request"
    assert unknown.section_in("auto") == unknown.section


def test_needs_say_why_a_requirement_is_not_exercised() -> None:
    catalogue = load_catalogue()
    entry = catalogue["store.event.distributed"]
    assert entry.missing({"events", "input"}) == ("second-instance",)
    assert entry.missing({"events", "input", "second-instance"}) == ()
    assert "location" in NEEDS["second-instance"]
    durable = catalogue["store.create.durable"]
    assert durable.needs == ()
    assert durable.more_with == ("second-instance",)
    assert {need for each in catalogue for need in (*each.needs, *each.more_with)} == set(NEEDS)


def test_torn_states_and_hanging_calls_are_breaches() -> None:
    catalogue = load_catalogue()
    for key in ("store.misc.call-ends", "store.misc.call-cancellation", "store.event.handler-error"):
        assert (catalogue[key].level, catalogue[key].verdict) == ("MUST", "fail")


def test_every_cell_of_the_store_table_says_what_a_breach_is_charged_to() -> None:
    rows = load_catalogue().state_tables["store-2026-07-28"]
    named = {key for row in rows for cell in row.cells.values() for key in cell.requirements}
    assert all(cell.requirements for row in rows for cell in row.cells.values())
    outside = {entry.id.split(".")[1] for entry in load_catalogue().select("store.*") if entry.id not in named}
    # What no single cell can break: timing, concurrency, handlers, aliasing, invariants.
    assert outside <= {"time", "conc", "event", "get", "misc", "create", "cancel", "ttl"}


def test_entries_are_frozen() -> None:
    entry = load_catalogue()["store.get.pure"]
    with pytest.raises(ValidationError, match="frozen"):
        entry.statement = "other"  # type: ignore[misc]


def test_ambiguities_and_examples() -> None:
    catalogue = load_catalogue()
    assert catalogue["store.event.unmatched"].ambiguities == ("STORE-AMB-1",)
    assert catalogue.ambiguities["STORE-AMB-1"].kind == "ambiguity"
    assert len(catalogue.examples) == 40
    assert set(catalogue.pins) >= {"ext-tasks", "csharp-sdk"}


Edit = Callable[[dict[str, Any]], object]


def entry(document: dict[str, Any], key: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in document["requirements"] if each["id"] == key)
    return found


BROKEN: list[tuple[str, Edit, str]] = [
    (STORE, lambda d: d["requirements"].append(d["requirements"][0]), f"{STORE}: store.create.working stands twice"),
    (STORE, lambda d: d.update(extra=1), f"{STORE}: unknown member 'extra'"),
    (STORE, lambda d: d.update(requirements={}), f"{STORE}: requirements: must be a list"),
    (STORE, lambda d: d["requirements"].append("text"), "entry 72: "),
    (STORE, lambda d: entry(d, "store.get.pure").update(colour="red"), "store.get.pure: unknown member 'colour'"),
    (STORE, lambda d: entry(d, "store.get.pure").pop("needs"), "store.get.pure: lacks member 'needs'"),
    (STORE, lambda d: entry(d, "store.get.pure").update(level="SHALL"), "store.get.pure: member 'level'"),
    (STORE, lambda d: entry(d, "store.get.pure").update(needs=["luck"]), "store.get.pure: member 'needs.0'"),
    (STORE, lambda d: entry(d, "store.get.pure").update(source=[]), "store.get.pure: member 'source'"),
    (STORE, lambda d: entry(d, "store.get.pure")["test"].update(expect=1), "store.get.pure: member 'test.expect'"),
    (STORE, lambda d: entry(d, "store.get.pure").update(level="MAY"), "store.get.pure: a MAY cannot be breached"),
    (STORE, lambda d: entry(d, "store.get.pure").update(needs=["wire", "wire"]), "'needs' repeats a value"),
    (STORE, lambda d: entry(d, "store.get.pure").update(id="get.pure"), "get.pure: begins with none of store"),
    (STORE, lambda d: entry(d, "store.get.pure").update(id="store.Get"), "store.Get: member 'id'"),
    (STORE, lambda d: entry(d, "store.get.pure").update(revision="json-rpc"), "does not belong in this file"),
    (STORE, lambda d: entry(d, "store.get.pure").update(notes="AMB-99."), "store.get.pure: mentions AMB-99"),
    (STORE, lambda d: entry(d, "store.get.pure").update(notes="see store.get.poor."), "mentions store.get.poor,"),
    (STORE, lambda d: entry(d, "store.get.pure")["source"][0].update(document="x (abcdef0)"), "abcdef0, which is not"),
    ("ambiguities.yaml", lambda d: d["entries"].append(d["entries"][0]), "ambiguities.yaml: CON-01 stands twice"),
    ("ambiguities.yaml", lambda d: d["entries"][0].update(kind="joke"), "ambiguities.yaml: CON-01: member 'kind'"),
    ("ambiguities.yaml", lambda d: d["entries"][0].update(issue="DIFF-77"), "CON-01: mentions DIFF-77"),
    (
        "state_tables.yaml",
        lambda d: d["store-2026-07-28"][1]["cells"]["absent"].update(requirements=["store.get.nul"]),
        "state_tables.yaml: store-2026-07-28, get, absent: names store.get.nul, which does not exist",
    ),
    (
        "state_tables.yaml",
        lambda d: d["wire-2025-11-25"][0].update(requirements=["tasks25.get.nul"]),
        "wire-2025-11-25, tasks/get: names tasks25.get.nul",
    ),
    ("state_tables.yaml", lambda d: d["wire-2025-11-25"][0]["cells"].update(lost={"open": True}), "tasks/get: member"),
    (
        "state_tables.yaml",
        lambda d: d["wire-2025-11-25"][0]["cells"].update(working={"open": True}),
        "has neither 'required' nor 'allowed'",
    ),
    ("state_tables.yaml", lambda d: d["wire-2025-11-25"].append(d["wire-2025-11-25"][0]), "tasks/get stands twice"),
    ("state_tables.yaml", lambda d: d.update(more=[]), "state_tables.yaml: unknown member 'more'"),
    (
        "wire_examples.yaml",
        lambda d: d["examples"][0].pop("json"),
        "wire_examples.yaml: example 0: lacks member 'json'",
    ),
    ("catalogue.yaml", lambda d: d.update(version="one"), "catalogue.yaml: member 'version'"),
    ("catalogue.yaml", lambda d: d["files"].append(d["files"][0]), "catalogue.yaml: prefix 'store' belongs to two"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA, tmp_path / "data"))


@pytest.mark.parametrize(("name", "edit", "message"), BROKEN, ids=[message for _, _, message in BROKEN])
def test_a_broken_catalogue_is_refused(folder: Path, name: str, edit: Edit, message: str) -> None:
    document = read_yaml(folder, name)
    edit(document)
    (folder / name).write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    with pytest.raises(CatalogueError) as caught:
        Catalogue(folder).check()
    assert message in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("requirements: [", f"{STORE} line "),
        ("- a", f"{STORE}: must be a mapping"),
        ("requirements:\n- id: a\n  id: b\n", f"{STORE} line 3: key 'id' stands twice"),
        ("x: !!python/object:os.system {}", f"{STORE} line 1: could not determine a constructor"),
    ],
)
def test_a_file_that_is_no_catalogue(folder: Path, text: str, message: str) -> None:
    (folder / STORE).write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError) as caught:
        Catalogue(folder).check()
    assert str(caught.value).startswith(message)


def test_a_missing_file(folder: Path) -> None:
    (folder / STORE).unlink()
    with pytest.raises(CatalogueError, match=f"{STORE}: cannot be read"):
        Catalogue(folder).check()


def test_the_documentation_explains_every_need() -> None:
    page = (Path(__file__).parents[1] / "docs" / "catalogue.md").read_text(encoding="utf-8")
    assert [need for need in NEEDS if f"| `{need}` |" not in page] == []
