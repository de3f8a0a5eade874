"""The suite's own requests: parameters, headers, body.

Every request is whole: all of ``_meta``, all routing headers.  What the suite sends is validated with the
models that judge the target's answers, so that a fault of the suite is never charged to a target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcptasks.conformance.errors import SuiteError
from mcptasks.conformance.wire import header_values, names
from mcptasks.conformance.wire.json_text import encode
from mcptasks.conformance.wire.messages import PARAMS
from mcptasks.conformance.wire.shapes import ShapeMemo
from mcptasks.strategies.json_values import JSON

__all__ = ["CAPABILITIES", "ROUTED_BY", "Outgoing", "RequestMaker"]

CAPABILITIES: Final[Mapping[str, JSON]] = {
    "elicitation": {},
    "sampling": {},
    "roots": {},
    "extensions": {names.TASKS_EXTENSION: {}},
}
"""What the suite declares on every request unless a check is about declaring less."""

ROUTED_BY: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The parameter that ``Mcp-Name`` repeats (Streamable HTTP, "Standard Request Headers"; tasks extension)."""

_FIXED: Final = (
    (b"Content-Type", b"application/json"),
    (b"Accept", b"application/json, text/event-stream"),
    (b"Accept-Encoding", b"identity"),
    (names.HEADER_VERSION.encode(), names.VERSION.encode()),
)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request ready to be sent."""

    id: str | int
    method: str
    params: Mapping[str, JSON]
    """Without ``_meta``."""
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes


class RequestMaker:
    """Makes requests with ids of both JSON types.

    Args:
        version: of the suite, for ``clientInfo``.
        own: the user's headers, resolved.
    """

    def __init__(self, version: str, own: Sequence[tuple[str, str]] = ()) -> None:
        self._next = 0
        self._own = [(name.encode(), value.encode()) for name, value in own]
        self._memo = ShapeMemo()
        self._adapters = {method: TypeAdapter(model) for method, model in PARAMS.items()}
        self._meta: dict[str, JSON] = {
            names.PROTOCOL_VERSION: names.VERSION,
            names.CLIENT_INFO: {"name": "mcptasks", "version": version},
            names.CLIENT_CAPABILITIES: dict(CAPABILITIES),
        }

    def make(
        self, method: str, params: Mapping[str, JSON], *, capabilities: Mapping[str, JSON] | None = None
    ) -> Outgoing:
        """A request.

        Raises:
            SuiteError: it is not valid by the suite's own models.
        """
        self._next += 1
        # Every eighth id is a text, so that a server that turns one kind into the other is seen.
        request_id: str | int = self._next if self._next % 8 else f"r{self._next}"
        meta = self._meta
        if capabilities is not None:
            meta = {**meta, names.CLIENT_CAPABILITIES: dict(capabilities)}
        whole = {**params, "_meta": meta}
        self._check(method, whole)
        headers = [*_FIXED, (names.HEADER_METHOD.encode(), method.encode()), *self._own]
        member = ROUTED_BY.get(method)
        if member is not None:
            headers.append((names.HEADER_NAME.encode(), header_values.encode(str(params[member])).encode()))
        body = encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": whole})
        return Outgoing(request_id, method, params, headers, body)

    def _check(self, method: str, params: Mapping[str, JSON]) -> None:
        adapter: TypeAdapter[Any] | None = self._adapters.get(method)
        if adapter is None or self._memo.known_good(method, params):
            return
        try:
            adapter.validate_python(params)
        except ValidationError as error:
            raise SuiteError(f"the suite made an invalid {method} request: {error.errors()[0]}") from error
        self._memo.add(method, params)
