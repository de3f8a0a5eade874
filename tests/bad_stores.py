"""Stores that misbehave: each raises, hangs, dies, lies or litters in a way of its own.

They are driven through the real command line, in a child process, by ``test_bad_targets.py``.  All
but the misbehaviour is the reference store.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.fixtures.stores.threadsafe import ThreadSafeTaskStore

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r\n::error::owned\n\x00"
"""What must never reach a terminal or a report as it is."""


# --- opening --------------------------------------------------------------------------------


def refuses() -> Any:
    raise RuntimeError(f"no database {ESCAPES}")


def gives_nothing() -> Any:
    return None


def demands(address: str) -> Any:
    return MemoryTaskStore()


async def waits() -> Any:
    await asyncio.Event().wait()


def blocks() -> Any:
    threading.Event().wait()


@contextlib.contextmanager
def refuses_to_enter() -> Iterator[Any]:
    raise RuntimeError("the context manager raises")
    yield


class Half:
    def create_task(self) -> None: ...
    def get_task(self, task_id: str) -> None: ...


class Unreadable:
    """Every attribute raises, and not even an AttributeError."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(ESCAPES)


_opened = itertools.count()


def second_time_blocks() -> Any:
    if next(_opened) >= 2:
        time.sleep(1000)
    return MemoryTaskStore()


def second_time_raises() -> Any:
    if next(_opened) >= 2:
        raise ConnectionError("too many connections")
    return MemoryTaskStore()


class CloseBlocks(MemoryTaskStore):
    """Whatever else it does, closing it never ends."""

    async def close(self) -> None:
        await asyncio.Event().wait()


# --- exceptions -----------------------------------------------------------------------------


class Unspeakable(BaseException):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Loud(Exception):
    def __str__(self) -> str:
        return ESCAPES + "x" * 1_000_000


class Lying(Exception):
    def __str__(self) -> Any:  # type: ignore[override]
        return 5


class RaisesOddly(MemoryTaskStore):
    async def set_completed(self, task_id: str, result: Any) -> None:
        raise Loud

    async def set_failed(self, task_id: str, error: Any) -> None:
        raise Unspeakable

    async def set_cancelled(self, task_id: str) -> bool:
        raise KeyboardInterrupt

    async def set_input_requests(self, task_id: str, input_requests: Mapping[str, Any]) -> None:
        raise SystemExit(0)

    async def resolve_input_requests(self, task_id: str, input_responses: Mapping[str, Any]) -> None:
        raise asyncio.CancelledError

    def on_input_response(self, listener: Any) -> Any:
        raise GeneratorExit


class RaisesOddlyPlain(ThreadSafeTaskStore):
    def set_completed(self, task_id: str, result: Any) -> None:
        raise SystemExit(ESCAPES)

    def set_failed(self, task_id: str, error: Any) -> None:
        raise StopIteration

    def set_cancelled(self, task_id: str) -> bool:
        raise asyncio.CancelledError

    def set_input_requests(self, task_id: str, input_requests: Mapping[str, Any]) -> None:
        raise Lying

    def resolve_input_requests(self, task_id: str, input_responses: Mapping[str, Any]) -> None:
        raise RecursionError

    def on_input_response(self, listener: Any) -> Any:
        raise ExceptionGroup(ESCAPES, [KeyError("x"), Loud()])


class RaisesAlways(MemoryTaskStore):
    async def create_task(self) -> Any:
        raise Unspeakable

    async def get_task(self, task_id: str) -> Any:
        raise Loud


class Interrupts(MemoryTaskStore):
    """Raises what asyncio does not keep in the task but throws out of the loop."""

    async def get_task(self, task_id: str) -> Any:
        loop = asyncio.get_running_loop()

        def throws() -> None:
            raise KeyboardInterrupt

        loop.call_soon(throws)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return await super().get_task(task_id)


class StopsTheLoop(MemoryTaskStore):
    async def set_failed(self, task_id: str, error: Any) -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        await super().set_failed(task_id, error)


class CancelsItsCaller(MemoryTaskStore):
    async def set_failed(self, task_id: str, error: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


class CancelsLater(MemoryTaskStore):
    """Cancels the caller's task so that whatever the caller awaits next is hit."""

    async def set_failed(self, task_id: str, error: Any) -> None:
        await super().set_failed(task_id, error)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()


# --- never ending -----------------------------------------------------------------------------


class Waits(MemoryTaskStore):
    async def set_failed(self, task_id: str, error: Any) -> None:
        await asyncio.Event().wait()


class WaitsStubbornly(MemoryTaskStore):
    """Cancelling it does not help."""

    async def set_failed(self, task_id: str, error: Any) -> None:
        while True:
            with contextlib.suppress(BaseException):
                await asyncio.sleep(3600)


class Sleeps(ThreadSafeTaskStore):
    def set_failed(self, task_id: str, error: Any) -> None:
        time.sleep(10_000)


class Spins(MemoryTaskStore):
    async def set_completed(self, task_id: str, result: Any) -> None:
        while True:
            pass


class GetWaits(MemoryTaskStore):
    async def get_task(self, task_id: str) -> Any:
        await asyncio.Event().wait()


class CreateSleeps(ThreadSafeTaskStore):
    def create_task(self) -> Any:
        time.sleep(10_000)


class SubscribeWaits(MemoryTaskStore):
    def on_input_response(self, listener: Any) -> Any:
        return self._never()

    async def _never(self) -> None:
        await asyncio.Event().wait()


class UnsubscribeWaits(MemoryTaskStore):
    def on_input_response(self, listener: Any) -> Any:
        super().on_input_response(listener)

        async def never() -> None:
            await asyncio.Event().wait()

        return never


# --- dying --------------------------------------------------------------------------------------


class Exits(MemoryTaskStore):
    async def set_failed(self, task_id: str, error: Any) -> None:
        os._exit(0)


class Aborts(MemoryTaskStore):
    async def set_completed(self, task_id: str, result: Any) -> None:
        print("last words", ESCAPES, flush=True)
        os.abort()


class KillsItsGroup(MemoryTaskStore):
    async def set_cancelled(self, task_id: str) -> bool:
        os.killpg(0, signal.SIGKILL)
        return True


class ExitsAtCreate(MemoryTaskStore):
    async def create_task(self) -> Any:
        os._exit(9)


class ExitsLate(MemoryTaskStore):
    """Breaks a requirement at once, and dies after a while, whatever is called."""

    calls = 0

    async def set_cancelled(self, task_id: str) -> bool:
        await super().set_cancelled(task_id)
        return True

    async def get_task(self, task_id: str) -> Any:
        ExitsLate.calls += 1
        if ExitsLate.calls > 700:
            os._exit(7)
        return await super().get_task(task_id)


class Eats(MemoryTaskStore):
    hoard: ClassVar[list[Any]] = []

    async def set_failed(self, task_id: str, error: Any) -> None:
        while True:
            self.hoard.append(bytearray(300 * 2**20))  # at once: by small steps a busy machine may seem to hang
            time.sleep(3600)


# --- litter -------------------------------------------------------------------------------------


class Prints(MemoryTaskStore):
    async def set_cancelled(self, task_id: str) -> bool:
        print(ESCAPES * 50)
        sys.stderr.write(ESCAPES * 50)
        os.write(1, b"\xff\xfe" * 4000)
        os.write(2, ESCAPES.encode() * 400)
        return await super().set_cancelled(task_id)


class Litters(MemoryTaskStore):
    """Leaves everything around it otherwise than it was."""

    done = False

    def __init__(self) -> None:
        super().__init__()
        if Litters.done:
            return
        Litters.done = True
        os.chdir("/")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        sys.stdout = None
        sys.stderr = open(os.devnull)  # noqa: SIM115  # not writable, and left open
        threading.Thread(target=time.sleep, args=(10_000,), daemon=False).start()
        subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        os.environ.clear()
        sys.path.clear()
        sys.argv.clear()


class Forks(MemoryTaskStore):
    """Starts a process in a session of its own, which writes its id to a file and lives on."""

    done = False

    def __init__(self) -> None:
        super().__init__()
        if not Forks.done:
            Forks.done = True
            process = subprocess.Popen(["sleep", "300"])
            Path("forked.pid").write_text(str(process.pid))
            pid = os.fork()
            if pid == 0:
                os.setsid()
                time.sleep(300)
                os._exit(0)
            Path("daemon.pid").write_text(str(pid))


class ClosesDescriptors(MemoryTaskStore):
    async def set_failed(self, task_id: str, error: Any) -> None:
        os.closerange(0, 256)
        await super().set_failed(task_id, error)


class ClosesDescriptorsAndEats(MemoryTaskStore):
    async def set_failed(self, task_id: str, error: Any) -> None:
        os.closerange(0, 256)
        self.hoard = bytearray(300 * 2**20)
        time.sleep(3600)


class Babbles(MemoryTaskStore):
    """Never comes back, and writes to every pipe meanwhile."""

    async def set_failed(self, task_id: str, error: Any) -> None:
        while True:
            for number in range(3, 32):
                with contextlib.suppress(OSError):
                    if stat.S_ISFIFO(os.fstat(number).st_mode):
                        os.write(number, b"junk\n")
            time.sleep(0.1)


class WritesToDescriptors(MemoryTaskStore):
    """Writes to whatever descriptor it finds, the suite's own among them."""

    async def set_failed(self, task_id: str, error: Any) -> None:
        for number in range(3, 32):
            with contextlib.suppress(OSError):
                os.write(number, b'{"kind": "summary"}\n{"kind": "finding"}\n[1]\n{"kind": "done"}x\n\xff\n')
        await super().set_failed(task_id, error)


# --- lying records --------------------------------------------------------------------------------


class Evil:
    """Looks like anything; comparing, hashing, showing and measuring it raises."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError(ESCAPES)

    __eq__ = __ne__ = __lt__ = __hash__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = _raise  # type: ignore[assignment]
    __contains__ = __getitem__ = __call__ = __int__ = __float__ = _raise


class EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return False


class Endless(dict[str, Any]):
    def __iter__(self) -> Any:
        return map(str, itertools.count())

    keys = __iter__  # type: ignore[assignment]

    def items(self) -> Any:
        return ((str(number), number) for number in itertools.count())

    def __len__(self) -> int:
        return 1


class _Changed(MemoryTaskStore):
    """Changes one member of every record that get returns."""

    def changed(self, record: dict[str, Any]) -> Any:
        return record

    async def get_task(self, task_id: str) -> Any:
        record = await super().get_task(task_id)
        if record is None:
            return None
        return self.changed({name: getattr(record, name) for name in record.__dataclass_fields__})


def changes(member: str, value: Any) -> Any:
    """A factory of stores whose records have ``value`` as ``member``."""

    class Changes(_Changed):
        def changed(self, record: dict[str, Any]) -> Any:
            return {**record, member: value}

    return Changes


class Attributes(_Changed):
    def changed(self, record: dict[str, Any]) -> Any:
        class Odd:
            def __getattr__(self, name: str) -> Any:
                if name == "result":
                    raise RuntimeError(ESCAPES)
                return record[name]

        return Odd()


_recursive: dict[str, Any] = {}
_recursive["self"] = _recursive


class Medley(_Changed):
    """Another kind of garbage at every get of the process."""

    turn: ClassVar[Any] = itertools.cycle(
        [
            *(
                {member: odd}
                for member in ("task_id", "status")
                for odd in (Evil(), EqualToAll(), ["working"], {}, b"x")
            ),
            *({member: odd} for member in ("result", "error") for odd in (Evil(), Endless(), _recursive, EqualToAll())),
            *({"input_requests": odd} for odd in (Evil(), Endless(), _recursive, EqualToAll(), 5, {Evil: 1}, [Evil()])),
            *({member: Evil()} for member in ("created_at", "last_updated_at", "ttl_ms", "poll_interval_ms")),
            {"ttl_ms": 10**400, "poll_interval_ms": float("inf")},
        ]
    )

    def changed(self, record: dict[str, Any]) -> Any:
        return {**record, **next(self.turn)}


evil_requests = changes("input_requests", Evil())
equal_id = changes("task_id", EqualToAll())
endless_result = changes("result", Endless())
escaped_status = changes("status", ESCAPES)
huge_result = changes("result", "\x1b" * 1_000_000)


class OddCreate(MemoryTaskStore):
    """A created record, one member of which is odd."""

    odd: ClassVar[dict[str, Any]] = {}

    async def create_task(self) -> Any:
        record = await super().create_task()
        return {**{name: getattr(record, name) for name in record.__dataclass_fields__}, **self.odd}


def odd(**members: Any) -> Any:
    return type("OddCreated", (OddCreate,), {"odd": members})


odd_times = odd(created_at=Evil(), last_updated_at=EqualToAll(), ttl_ms=float("nan"), poll_interval_ms=Evil())
odd_zone = odd(created_at="0001-01-01T00:00:00+23:59")
garbage = odd(task_id=5, status=7)


class _Named(MemoryTaskStore):
    """Tasks have ids of the store's own making."""

    made = itertools.count()

    def name(self, number: int) -> str:
        raise NotImplementedError

    async def create_task(self) -> Any:
        record = await super().create_task()
        task = self._tasks.pop(record.task_id)
        task.task_id = self.name(next(self.made))
        self._tasks[task.task_id] = task
        return self._snapshot(task)


class HugeIds(_Named):
    def name(self, number: int) -> str:
        return f"{number:x}" * 100 + "i" * 1_000_000


class OddIds(_Named):
    """Ids that work, and would do harm on a terminal; cancelling is wrong, so that one is reported."""

    def name(self, number: int) -> str:
        return f"{ESCAPES}{os.urandom(12).hex()}\ud800"

    async def set_cancelled(self, task_id: str) -> bool:
        await super().set_cancelled(task_id)
        return True


# --- events -----------------------------------------------------------------------------------------


class OddUnsubscribe(MemoryTaskStore):
    def on_input_response(self, listener: Any) -> Any:
        super().on_input_response(listener)
        return ESCAPES


class OddEvents(MemoryTaskStore):
    """Calls listeners with what is no event, often, from other threads, and after the end."""

    def on_input_response(self, listener: Any) -> Any:
        unsubscribe = super().on_input_response(listener)

        def later() -> None:
            for value in (None, Evil(), ESCAPES, {"task_id": Evil(), "request_id": [], "response": _recursive}):
                time.sleep(0.01)
                with contextlib.suppress(BaseException):
                    listener(value)

        threading.Thread(target=later, daemon=False).start()
        return unsubscribe


class UnhashableEvents(MemoryTaskStore):
    def on_input_response(self, listener: Any) -> Any:
        async def odd_listener(event: Any) -> None:
            listener({"task_id": ["a"], "request_id": {}, "response": Evil()})
            listener(type("Event", (), {"task_id": EqualToAll(), "request_id": EqualToAll(), "response": 1})())

        return super().on_input_response(odd_listener)


# --- at random --------------------------------------------------------------------------------------


class Flaky(MemoryTaskStore):
    """Wrong once in the whole life of the process: nothing that a fresh store shows again."""

    calls = 0

    async def set_cancelled(self, task_id: str) -> bool:
        Flaky.calls += 1
        value = await super().set_cancelled(task_id)
        return not value if Flaky.calls == 5 else value


class FlakyAtRandom(MemoryTaskStore):
    """Wrong with a probability of a hundredth: found, and sometimes found again."""

    async def set_cancelled(self, task_id: str) -> bool:
        value = await super().set_cancelled(task_id)
        return not value if os.urandom(1)[0] < 3 else value


class DiesOnce(MemoryTaskStore):
    """Ends its process, once; the next process finds the mark that it left."""

    async def set_failed(self, task_id: str, error: Any) -> None:
        with contextlib.suppress(FileExistsError):
            os.close(os.open("died.mark", os.O_CREAT | os.O_EXCL))
            os._exit(5)
        await super().set_failed(task_id, error)


class Slow(MemoryTaskStore):
    """Conformant, and slow enough to be interrupted."""

    async def create_task(self) -> Any:
        await asyncio.sleep(0.002)
        return await super().create_task()


class SlowAndWrong(Slow):
    async def set_cancelled(self, task_id: str) -> bool:
        await super().set_cancelled(task_id)
        return True


class UnsubscribeSleeps(ThreadSafeTaskStore):
    def on_input_response(self, listener: Any) -> Any:
        super().on_input_response(listener)
        return lambda: time.sleep(10_000)
