"""A server of 2025-11-25 as a source of targets: introduced once, its session renewed whenever it is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mcptasks.conformance.engine.wire_profiles import CONTROL_TOOLS, Control, Profile
from mcptasks.conformance.engine.wire_tools import ToolProfile, mapped
from mcptasks.conformance.errors import InconclusiveError, TargetUnusableError, UsageError
from mcptasks.conformance.wire.allowance import Allowance
from mcptasks.conformance.wire.asking import tool_pages, tools_of
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.mapping import ROLES
from mcptasks.conformance.wire.problems import RequestsSpentError, Smell, WireProblem
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.conformance.wire_2025.forms import Forms25
from mcptasks.conformance.wire_2025.names import VERSION
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.conformance.wire_2025.transcript import Transcript25
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["NO_TASKS", "Introduction25", "OpenServer25", "ServerSource25", "introduce25", "speaks_2025"]

NO_TASKS: Final = "the server offers no tasks: capabilities of its initialize answer have no tasks.requests.tools.call"
_UNKNOWN_TOOL: Final = "mcptasks_no_such_tool"
_OPENINGS: Final = 3
"""Attempts to begin a session."""


@dataclass(slots=True)
class Introduction25:
    """What a server said of itself."""

    profile: Profile
    supports: Mapping[str, str]
    """Its tools, each with its ``taskSupport`` (``forbidden`` where it says nothing)."""
    capabilities: Mapping[str, JSON]
    """What it declares at ``initialize``."""
    declared: bool
    """Whether these have ``tasks.requests.tools.call``."""
    lists: bool
    """Whether it declares ``tasks.list``."""
    cancels: bool
    """Whether it declares ``tasks.cancel``."""
    listens: bool
    """Whether it gives a stream for a GET."""
    has_sessions: bool
    """Whether it gives a session id."""
    server: str
    """Its name and version, as it tells them."""
    smells: list[tuple[str, Smell]]
    notes: list[str]

    @property
    def tools(self) -> list[str]:
        """The names of its tools."""
        return list(self.supports)

    @property
    def fixtures(self) -> bool:
        """Whether it has tools of which the suite knows more than that they make tasks."""
        return self.profile.name == "control"


class OpenServer25:
    """A server at work, with what is remembered of it over all sequences.

    Args:
        client: of the server.
        introduction: what it said of itself.
        transcript: takes what is sent.
        note: takes what a reader should know, each text once.
    """

    clock: Final = None
    """A server's clock cannot be driven."""

    def __init__(
        self, client: Client25, introduction: Introduction25, transcript: Transcript25, note: Callable[[str], None]
    ) -> None:
        self.client = client
        self.introduction = introduction
        self.profile = introduction.profile
        self.forms = Forms25()
        self.transcript = transcript
        self.note = note
        self.seen_ids: set[str] = set()
        self.made: list[str] = []
        """Ids of the tasks made in the session under way, as far as they need not have been deleted, in order."""
        self.refusals = 0
        """Creations refused in a row."""
        self.questions_asked = 0
        """Of the whole run, so that each has a text of its own."""
        self.missed: Counter[str] = Counter()
        """How often something was awaited in vain, by what it was."""
        self.revive: Callable[[], Awaitable[bool]] | None = None
        """Starts the server again when it has died; ``None``: it was not started by the suite."""
        self._session: Session | None = None

    async def session(self) -> Session:
        """The session under way; a new one where the last was lost.

        Raises:
            TargetUnusableError: no session can be begun.
        """
        if self._session is not None and not self._session.lost:
            return self._session
        await self.leave()
        told = ""
        for _ in range(_OPENINGS):
            session = Session(self.client)
            try:
                reply = await session.open()
            except WireProblem as problem:
                told = problem.line
                await session.close()
                if problem.kind == "unreachable" and (self.revive is None or not await self.revive()):
                    break
                continue
            if reply.error is None:
                self._session = session
                return session
            told = f"answers initialize with error {reply.code}: {text_of(reply.error['message'], 120)}"
            await session.close()
        raise TargetUnusableError(f"{self.client.endpoint}: no further session can be begun: it {told}")

    async def leave(self) -> None:
        """End the session under way; the next use begins another one."""
        session, self._session = self._session, None
        self.made.clear()
        if session is not None:
            await session.close()

    def adopt(self, session: Session) -> None:
        """Take a session that was begun already."""
        self._session = session

    async def close(self) -> None:
        """Nothing to do: the server goes on."""


class ServerSource25:
    """Opens one server.

    Args:
        client: of the server.
        introduction: what it said of itself.
        spec: as the user named it.
        url: its endpoint.
        note: takes what a reader should know.
    """

    is_instance = True
    accepts: frozenset[str] = frozenset()

    def __init__(
        self, client: Client25, introduction: Introduction25, spec: ServerSpec, url: str, note: Callable[[str], None]
    ) -> None:
        told: set[str] = set()

        def once(text: str) -> None:
            if text not in told and len(told) < 20:
                told.add(text)
                note(text)

        self.opened = OpenServer25(client, introduction, Transcript25(url, spec.sent_headers), once)
        self.spec = spec
        self.url = url

    async def open(self, options: object = None) -> OpenServer25:
        """The server."""
        return self.opened


async def introduce25(client: Client25, spec: ServerSpec) -> tuple[Introduction25, Session]:
    """Begin a session and ask a server what it is.

    Returns:
        What it says, and the session.

    Raises:
        TargetUnusableError: it gives no answer that can be read, or does not speak the revision.
        InconclusiveError: it has no tasks, or no tools that make them.
        UsageError: the mapping file names a tool that it does not offer.
    """
    session = Session(client)
    try:
        return await _introduced(client, spec, session), session
    except WireProblem as problem:
        await session.close()
        line = problem.line if problem.kind == "unreachable" else f"{client.endpoint}: {problem.line}"
        raise TargetUnusableError(line) from problem
    except BaseException:
        await session.close()
        raise


async def _introduced(client: Client25, spec: ServerSpec, session: Session) -> Introduction25:
    smells: list[tuple[str, Smell]] = []
    reply = await session.open()
    if reply.result is None:
        assert reply.error is not None
        raise TargetUnusableError(
            f"{client.endpoint}: it speaks no known revision: initialize is answered with error {reply.code}: "
            f"{text_of(reply.error['message'], 120)}"
        )
    if session.version != VERSION:
        raise TargetUnusableError(
            f"{client.endpoint}: asked for protocol version {VERSION}, it answers with {text_of(session.version, 40)}"
        )
    smells += [("initialize", smell) for smell in reply.smells]
    capabilities = _member(reply.result, "capabilities")
    tasks = _member(capabilities, "tasks")
    declared = "call" in _member(_member(tasks, "requests"), "tools")

    async def ask(method: str, params: Mapping[str, JSON]) -> Reply:
        answer = await session.request(method, params)
        smells.extend((method, smell) for smell in answer.smells)
        return answer

    supports: dict[str, str] = {}
    async for page in tool_pages(lambda params: ask("tools/list", params)):
        for tool in tools_of(page):
            execution = tool.get("execution")
            support = execution.get("taskSupport") if isinstance(execution, Mapping) else None
            supports[tool["name"]] = support if isinstance(support, str) else "forbidden"
    profile = _profile(supports, spec, declared=declared)
    refusal = await ask("tools/call", {"name": _UNKNOWN_TOOL, "arguments": {}})
    if refusal.error is not None or (refusal.result or {}).get("isError") is True:
        client.exercised["refused:tools/call"] += 1
    info = reply.result.get("serverInfo")
    server = f"{info.get('name')} {info.get('version')}" if isinstance(info, Mapping) else "a server without a name"
    return Introduction25(
        profile,
        supports,
        capabilities,
        declared,
        isinstance(tasks.get("list"), Mapping),
        isinstance(tasks.get("cancel"), Mapping),
        session.listening is True,
        session.id is not None,
        text_of(server, 120)[1:-1],
        smells,
        _notes(profile),
    )


async def speaks_2025(spec: ServerSpec, url: str, allowance: Allowance | None = None) -> bool:
    """Whether a server answers ``initialize`` in this revision, as far as requests are left to ask."""
    client = Client25(spec, url, allowance=allowance)
    session = Session(client, listens=False)
    try:
        reply = await session.open()
        return reply.result is not None and session.version == VERSION
    except (WireProblem, RequestsSpentError):
        return False
    finally:
        await session.close()
        await client.close()


def _member(holder: Mapping[str, JSON], name: str) -> Mapping[str, JSON]:
    """A member that is an object; an empty one if it is none."""
    found = holder.get(name)
    return found if isinstance(found, Mapping) else {}


def _profile(supports: Mapping[str, str], spec: ServerSpec, *, declared: bool) -> Profile:
    if spec.profile == "mapped":
        try:
            return mapped(spec.mapping, supports)
        except LookupError as error:
            raise UsageError(f"the mapping file: {error.args[0]}") from error
    if spec.profile == "official":
        raise UsageError("--profile official: the fixture tools of the official suite are of revision 2026-07-28")
    if set(supports) >= CONTROL_TOOLS:
        return Control()
    if not declared:
        raise InconclusiveError(NO_TASKS)
    told = (
        "profile control: the server does not offer"
        if spec.profile
        else "the server offers tasks and no tool that this suite can drive: not"
    )
    raise InconclusiveError(
        f"{told} task_open and task_step; a file that says what its own tools do makes it a target, for --profile"
    )


def _notes(profile: Profile) -> list[str]:
    if not isinstance(profile, ToolProfile):
        return []
    missing: list[str] = [role for role in ROLES if role not in profile.roles]
    lacking = f" It names none that {', '.join(missing)}." if missing else ""
    return [
        f"driven with the tools of the mapping file.{lacking} The control tools task_open and task_step would add: "
        "tasks that stay as they are until stepped, so that every lifecycle is reached and a missed deadline is a "
        "failure; results, errors and questions of the suite's own choice; and whether every answer reached its question."
    ]
