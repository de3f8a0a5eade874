"""A server as a source of targets: found out about once, then opened as often as a driver likes.

Opening makes no new server: a server cannot be renewed from outside, and its tasks of earlier sequences stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mcptasks.conformance.engine.wire_profiles import CONTROL_TOOLS, Control, Profile
from mcptasks.conformance.engine.wire_tools import OFFICIAL_TOOLS, ToolProfile, mapped, official
from mcptasks.conformance.errors import InconclusiveError, TargetUnusableError, UsageError
from mcptasks.conformance.wire.asking import ask, tool_pages, tools_of
from mcptasks.conformance.wire.client import Limits, Reply, WireClient
from mcptasks.conformance.wire.forms import Forms
from mcptasks.conformance.wire.mapping import ROLES
from mcptasks.conformance.wire.names import TASKS_EXTENSION, UNSUPPORTED_VERSION, VERSION
from mcptasks.conformance.wire.problems import Smell
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire.transcript import Transcript
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Introduction", "OpenServer", "ServerSource", "introduce"]

_MAKERS: Final = ("slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input")
_UNKNOWN_TOOL: Final = "mcptasks_no_such_tool"


@dataclass(slots=True)
class OpenServer:
    """A server at work, with what is remembered of it over all sequences."""

    client: WireClient
    profile: Profile
    forms: Forms
    transcript: Transcript
    note: Callable[[str], None]
    seen_ids: set[str] = field(default_factory=set)
    refusals: int = 0
    """Creations refused in a row."""
    renames_keys: bool | None = None
    """Whether it names requests for input itself; ``None`` until one was seen."""
    missed: Counter[str] = field(default_factory=Counter)
    """How often a probe has waited in vain, by what it waited for."""
    dual: bool = False
    """Whether it speaks 2025-11-25, too."""
    listens: bool = True
    """Whether it is taken to have subscriptions."""
    notifies: bool = True
    """Whether the last end of a task that was listened for was told."""
    clock: None = None
    """A server's clock cannot be driven."""

    async def close(self) -> None:
        """Nothing to do: the server goes on."""


class ServerSource:
    """Opens one server.

    Args:
        client: connected to it.
        profile: how it is driven.
        spec: as the user named it.
        url: its endpoint.
        note: takes what a reader should know, each text once.
    """

    is_instance = True
    accepts: frozenset[str] = frozenset()

    def __init__(
        self, client: WireClient, profile: Profile, spec: ServerSpec, url: str, note: Callable[[str], None]
    ) -> None:
        told: set[str] = set()

        def once(text: str) -> None:
            if text not in told and len(told) < 20:
                told.add(text)
                note(text)

        self.opened = OpenServer(client, profile, Forms(), Transcript(url, spec.sent_headers, spec.command), once)
        self.spec = spec
        self.url = url
        """Its endpoint."""

    async def open(self, options: object = None) -> OpenServer:
        """The server."""
        return self.opened


@dataclass(slots=True)
class Introduction:
    """What a server said of itself."""

    profile: Profile
    tools: list[str]
    server: str
    """Its name and version, as it tells them."""
    smells: list[tuple[str, Smell]]
    """Deviations, each with the method that showed it."""
    notes: list[str]

    @property
    def fixtures(self) -> bool:
        """Whether it has tools of which the suite knows more than that they make tasks."""
        return self.profile.name == "control" or "test_tool_with_task" in self.tools


async def introduce(client: WireClient, spec: ServerSpec) -> Introduction:
    """Ask a server what it is.

    Raises:
        TargetUnusableError: it gives no answer that can be read, or does not speak the revision.
        InconclusiveError: it has no tasks, or no tools that make them.
        UsageError: the mapping file names a tool that it does not offer.
    """
    smells: list[tuple[str, Smell]] = []
    counts = client.exercised
    discovered = await _ask(client, "server/discover", {}, smells)
    result = _discovery(discovered, client.endpoint)
    counts["core.discover.implemented"] += 1
    counts["core.discover.shape"] += 1
    smells += [("server/discover", smell) for smell in Forms().discovery(result)]
    _versions(result, client.endpoint, counts, smells)
    _extension(result, counts, smells)
    tools = await _tools(client, smells)
    profile = _profile(tools, spec)
    refusal = await _ask(client, "tools/call", {"name": _UNKNOWN_TOOL, "arguments": {}}, smells)
    if refusal.error is not None or (refusal.result or {}).get("isError") is True:
        counts["refused:tools/call"] += 1
    meta = result.get("_meta")
    info = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, Mapping) else None
    server = f"{info.get('name')} {info.get('version')}" if isinstance(info, Mapping) else "a server without a name"
    return Introduction(profile, tools, text_of(server, 120)[1:-1], smells, _notes(profile))


async def _ask(client: WireClient, method: str, params: Mapping[str, JSON], smells: list[tuple[str, Smell]]) -> Reply:
    reply = await ask(client, method, params)
    smells += [(method, smell) for smell in reply.smells]
    return reply


def _discovery(reply: Reply, endpoint: str) -> Mapping[str, JSON]:
    if reply.error is None:
        assert reply.result is not None
        return reply.result
    data = reply.error.get("data")
    if reply.code == UNSUPPORTED_VERSION and isinstance(data, Mapping):
        served = text_of(data.get("supported"), 80)
        raise TargetUnusableError(f"{endpoint}: it serves protocol versions {served}, not {VERSION}")
    raise TargetUnusableError(
        f"{endpoint}: it speaks no known revision: server/discover is answered with error {reply.code}: "
        f"{text_of(reply.error['message'], 120)}"
    )


def _versions(result: Mapping[str, JSON], endpoint: str, counts: Counter[str], smells: list[tuple[str, Smell]]) -> None:
    versions = result.get("supportedVersions")
    counts["core.discover.lists-version"] += 1
    if isinstance(versions, list) and VERSION not in versions:
        smells.append(
            (
                "server/discover",
                Smell(
                    "core.discover.lists-version",
                    "supportedVersions",
                    f"supportedVersions has {VERSION}, in which it just answered",
                    f"has supportedVersions {text_of(versions, 80)}",
                ),
            )
        )


def _extension(result: Mapping[str, JSON], counts: Counter[str], smells: list[tuple[str, Smell]]) -> None:
    capabilities = result.get("capabilities")
    capabilities = capabilities if isinstance(capabilities, Mapping) else {}
    extensions = capabilities.get("extensions")
    extensions = extensions if isinstance(extensions, Mapping) else {}
    if TASKS_EXTENSION not in extensions:
        raise InconclusiveError(
            f"the server offers no tasks: capabilities.extensions of its server/discover answer has no {TASKS_EXTENSION}"
        )
    value = extensions[TASKS_EXTENSION]
    counts["tasks.cap.server-advertises"] += 1
    counts["tasks.cap.settings-empty"] += 1
    counts["tasks.cap.no-legacy-advert"] += 1

    def smell(requirement: str, aspect: str, expected: str, actual: str) -> None:
        smells.append(("server/discover", Smell(requirement, aspect, expected, actual)))

    if not isinstance(value, Mapping):
        smell("tasks.cap.server-advertises", "extension", "an object", f"has {text_of(value, 40)} as {TASKS_EXTENSION}")
    elif value:
        smell("tasks.cap.settings-empty", "extension", "{}", f"has {text_of(value, 80)} as {TASKS_EXTENSION}")
    if "tasks" in capabilities:
        smell(
            "tasks.cap.no-legacy-advert",
            "tasks",
            "no capabilities.tasks",
            "has capabilities.tasks, which is of the 2025-11-25 revision",
        )


async def _tools(client: WireClient, smells: list[tuple[str, Smell]]) -> list[str]:
    pages = tool_pages(lambda params: _ask(client, "tools/list", params, smells))
    return [tool["name"] async for reply in pages for tool in tools_of(reply)]


def _profile(tools: list[str], spec: ServerSpec) -> Profile:
    if spec.profile == "mapped":
        try:
            return mapped(spec.mapping, tools)
        except LookupError as error:
            raise UsageError(f"the mapping file: {error.args[0]}") from error
    offered = set(tools)
    if spec.profile in (None, "control") and offered >= CONTROL_TOOLS:
        return Control()
    if spec.profile in (None, "official") and offered & set(_MAKERS):
        return official(tools)
    wanted = "task_open and task_step" if spec.profile == "control" else "the fixture tools of the official suite"
    if spec.profile is not None:
        raise InconclusiveError(f"profile {spec.profile}: the server does not offer {wanted}")
    raise InconclusiveError(
        "the server offers tasks and no tool that this suite can drive: neither task_open and task_step nor the "
        f"fixture tools of the official suite ({', '.join(_MAKERS)}); 'mcptasks init' writes a file that says what its "
        "own tools do, for --profile"
    )


def _notes(profile: Profile) -> list[str]:
    if profile.name == "control":
        return []
    assert isinstance(profile, ToolProfile)
    if profile.name == "mapped":
        missing: list[str] = [role for role in ROLES if role not in profile.roles]
        driven, lacks = "driven with the tools of the mapping file.", "It names none that"
    else:
        missing = sorted(OFFICIAL_TOOLS - profile.tools)
        driven, lacks = "driven with the official fixture tools.", "It lacks"
    lacking = f" {lacks} {', '.join(missing)}." if missing else ""
    return [
        driven + lacking + " The control tools task_open and task_step would add: "
        "tasks that stay as they are until stepped, so that every lifecycle is reached and a missed deadline is a "
        "failure; results, errors and questions of the suite's own choice; late steps on finished tasks; and whether "
        "every answer reached its question."
    ]


def limits_of(timeout: float) -> Limits:
    """The limits for a run whose calls may take ``timeout`` seconds."""
    return Limits(answer_s=timeout)
