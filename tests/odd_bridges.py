"""Bridges that are wrong, or right in an unusual way: ``python odd_bridges.py MODE`` runs one on stdin and stdout.

Each is the bridge of fixtures/bridges/python with one thing changed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent.parent / "fixtures" / "bridges" / "python" / "bridge.py"
spec = importlib.util.spec_from_file_location("python_bridge", PLACE)
assert spec is not None
assert spec.loader is not None
right: Any = importlib.util.module_from_spec(spec)
sys.modules["python_bridge"] = right
spec.loader.exec_module(right)

Message = dict[str, Any]


class Odd(right.Bridge):  # type: ignore[misc]
    """Hooks for what the modes change."""

    mode = ""

    def describe(self, params: Message) -> Message:
        found: Message = super().describe(params)
        if self.mode == "describe-without-revision":
            del found["revision"]
        elif self.mode == "describe-unknown-keyword":
            found["keywords"] = ["clock"]
        elif self.mode == "describe-changes":
            found["version"] = str(time.monotonic())
        elif self.mode == "without-wait":
            found["optional"] = []
        return found

    async def open(self, params: Message) -> None:
        if self.mode == "open-fails":
            raise OSError("no database")
        if self.mode == "keeps-its-store" and self.store is not None:
            return
        await super().open(params)

    async def close(self, params: Message) -> None:
        if self.mode != "keeps-its-store":
            await super().close(params)

    def set_clock(self, params: Message) -> None:
        if self.mode != "clock-stands-still" or self.store is None:
            super().set_clock(params)

    def tell(self, event: Any) -> None:
        if self.mode == "notification-without-id":
            return self.write({"jsonrpc": "2.0", "method": "store25/statusChange", "params": {"status": event.status}})
        if self.mode == "notification-unknown":
            return self.write({"jsonrpc": "2.0", "method": "store25/statusChanged", "params": {}})
        if self.mode == "notification-bare":
            return self.write({"jsonrpc": "2.0", "method": "store25/statusChange", "params": []})
        if self.mode == "asks":
            return self.write({"jsonrpc": "2.0", "id": 1, "method": "suite/time", "params": {}})
        if self.mode == "late":
            asyncio.get_running_loop().call_later(0.1, super().tell, event)
            return None
        return super().tell(event)  # type: ignore[no-any-return]

    def write(self, message: Message) -> None:
        if self.mode == "fractions" and isinstance(message.get("id"), int):
            message = {**message, "id": float(message["id"])}
            if "error" in message:
                message["error"] = {**message["error"], "code": float(message["error"]["code"])}
        super().write(message)

    async def answer(self, message: Message) -> Message:
        mode, method = self.mode, message["method"]
        if mode == "unknown-is-null" and method == "store/no-such-method":
            return {"result": None}
        if mode == "lacks-list" and method == "store25/list":
            return {"error": {"code": -32601, "message": "no such method"}}
        if mode == "error-is-text" and method == "store/no-such-method":
            return {"error": "no such method"}
        if method == "store25/storeResult" and "mcptasks-no-such" not in message["params"]["taskId"]:
            if mode == "dies":
                sys.stderr.write("panic: no room\n")
                sys.stderr.flush()
                os._exit(3)
            if mode == "hangs":
                await asyncio.Event().wait()
            if mode == "refuses-large" and len(json.dumps(message)) > 50_000:
                return {"error": {"code": -32000, "message": "too large"}}
        if mode == "never-closes" and method == "store/close":
            await asyncio.Event().wait()
        if mode == "any-order" and method != "store25/create":
            found: Message = await super().answer(message)
            await asyncio.sleep(0.001 * (message["id"] % 3 if isinstance(message["id"], int) else 1))
            return found
        return await super().answer(message)  # type: ignore[no-any-return]

    async def serve(self, message: Message) -> None:
        mode, method = self.mode, message["method"]
        out: Message = {"jsonrpc": "2.0", "id": message["id"], **await self.answer(message)}
        if mode == "id-as-text":
            out["id"] = str(out["id"])
        elif mode == "id-null":
            out["id"] = None
        elif mode == "no-version":
            del out["jsonrpc"]
        elif mode == "no-null" and out.get("result", 0) is None:
            del out["result"]
        elif mode == "snake" and method == "store25/create":
            out["result"] = {"task_id": "t", "status": "working", "created_at": "2026-07-28T00:00:00Z"}
        elif mode == "no-record" and method == "store25/create":
            out["result"] = "t1"
        elif mode == "nan" and method == "store25/create":
            out["result"]["ttl"] = float("nan")
        elif mode == "leaves-out-null" and isinstance(out.get("result"), dict):
            out["result"] = {name: item for name, item in out["result"].items() if item is not None}
        elif mode == "rounds" and method == "store25/getResult":
            out = json.loads(json.dumps(out), parse_int=lambda text: int(float(text)) if len(text) > 15 else int(text))
        if mode == "logs-to-stdout" and method == "store25/list":
            sys.stdout.write("listing tasks\n")
        if mode == "logs-to-stderr":
            sys.stderr.write("x" * 2000 + "\n")
        self.write(out)
        if mode == "twice":
            self.write(out)
        if mode == "later-dies" and method == "store25/storeResult":
            os._exit(0)

    def begin(self, line: bytes) -> None:
        if self.mode == "one-at-a-time":
            before = getattr(self, "last", None)

            async def after() -> None:
                if before is not None:
                    await before
                await self.serve(json.loads(line))

            self.last = asyncio.ensure_future(after())
            return
        super().begin(line)


def before_all(mode: str) -> None:
    if mode == "exits":
        sys.stderr.write("cannot find libstore.so\n")
        sys.exit(7)
    if mode == "silent":
        time.sleep(60)
    if mode == "speaks-http":
        sys.stdout.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        sys.stdout.flush()
        time.sleep(60)
    if mode == "not-utf8":
        sys.stdout.buffer.write(b'{"jsonrpc": "2.0", "id": 1, "result": "\xff"}\n')
        sys.stdout.flush()
        time.sleep(60)
    if mode == "endless-line":
        while True:
            sys.stdout.write("x" * 1_000_000)


if __name__ == "__main__":
    Odd.mode = sys.argv[1]
    before_all(Odd.mode)
    right.Bridge = Odd
    of = sys.argv[2] if len(sys.argv) > 2 else "mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025"
    asyncio.run(right.main(of))
