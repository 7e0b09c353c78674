"""Workers that call a function: threads, processes, or coroutines of one event loop.

A call that takes too long is given up. A coroutine is cancelled and a process ended; a thread
cannot be, so that another takes its place, and what it returns later is not looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from time import perf_counter
from typing import Any, NamedTuple

from psips.errors import InputError, unknown

KINDS = ("threads", "processes", "asyncio")
Function = Callable[[Any, Any], Any]
FREE, STARTING = -1, -2  # instead of the number of a call


class Done(NamedTuple):
    """A call that has ended: its number, its outcome, and how long it took."""

    number: int
    value: Any
    error: BaseException | None
    seconds: float


class Pool(ABC):
    """Calls ``function(arm, item)``, up to ``workers`` at a time; the others wait in a line."""

    def __init__(self, function: Function, workers: int) -> None:
        self.function = function
        self.workers = workers
        self.began: dict[int, float] = {}  # when each call that runs has begun

    @abstractmethod
    def submit(self, number: int, arm: Any, item: Any) -> None:
        """Let a call be made as soon as someone is free."""

    @abstractmethod
    def wait(self, seconds: float | None) -> list[Done]:
        """Return the calls that have ended, at least one unless the time is over."""

    @abstractmethod
    def abandon(self, number: int) -> None:
        """Give up a call that runs; nothing more is heard of it."""

    @abstractmethod
    def close(self) -> None:
        """Give up everything."""

    def _ended(self, done: queue.SimpleQueue[Done], seconds: float | None) -> list[Done]:
        """Take all there is out of a queue, at least one unless the time is over."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(done.get(timeout=seconds))
            while True:
                found.append(done.get_nowait())
        for one in found:
            self.began.pop(one.number, None)
        return found


class Threads(Pool):
    """Threads of this process."""

    def __init__(self, function: Function, workers: int) -> None:
        super().__init__(function, workers)
        self._line: queue.SimpleQueue[tuple[int, Any, Any] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._given_up: set[int] = set()
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._work, daemon=True, name="psips-worker").start()

    def _work(self) -> None:
        while True:
            job = self._line.get()
            if job is None:
                return
            number, arm, item = job
            begin = self.began[number] = perf_counter()
            value = error = None
            try:
                value = self.function(arm, item)
            except BaseException as caught:
                error = caught
            self._done.put(Done(number, value, error, perf_counter() - begin))
            if number in self._given_up:
                return  # another has taken its place

    def submit(self, number: int, arm: Any, item: Any) -> None:
        """Let a call be made as soon as someone is free."""
        self._line.put((number, arm, item))

    def wait(self, seconds: float | None) -> list[Done]:
        """Return the calls that have ended, at least one unless the time is over."""
        return [
            one for one in self._ended(self._done, seconds) if one.number not in self._given_up
        ]

    def abandon(self, number: int) -> None:
        """Give up a call that runs; its thread ends when it returns."""
        self._given_up.add(number)
        self.began.pop(number, None)
        self._start()

    def close(self) -> None:
        """Let threads end after the call that they are at."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._line.get_nowait()
        for _ in range(self.workers):
            self._line.put(None)


class Coroutines(Pool):
    """Coroutines of an event loop, in a thread of its own."""

    def __init__(self, function: Function, workers: int) -> None:
        super().__init__(function, workers)
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._free = asyncio.Semaphore(workers)
        self._tasks: dict[int, Any] = {}
        threading.Thread(target=self._loop.run_forever, daemon=True, name="psips-loop").start()

    async def _call(self, number: int, arm: Any, item: Any) -> None:
        async with self._free:
            begin = self.began[number] = perf_counter()
            value = error = None
            try:
                value = await self.function(arm, item)
            except asyncio.CancelledError:
                raise
            except BaseException as caught:
                error = caught
            self._done.put(Done(number, value, error, perf_counter() - begin))

    def submit(self, number: int, arm: Any, item: Any) -> None:
        """Let a call be made as soon as someone is free."""
        call = self._call(number, arm, item)
        self._tasks[number] = asyncio.run_coroutine_threadsafe(call, self._loop)

    def wait(self, seconds: float | None) -> list[Done]:
        """Return the calls that have ended, at least one unless the time is over."""
        return [
            one
            for one in self._ended(self._done, seconds)
            if self._tasks.pop(one.number, None) is not None
        ]

    def abandon(self, number: int) -> None:
        """Cancel a call that runs."""
        self.began.pop(number, None)
        self._tasks.pop(number).cancel()

    def close(self) -> None:
        """Cancel everything and end the loop."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    async def _end(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        self._loop.stop()


class _Worker:
    """A process that makes one call after the other."""

    def __init__(self, function: Function) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(function, other), daemon=True)
        self.process.start()
        other.close()
        self.number = STARTING  # of the call that it is at


class Processes(Pool):
    """Processes of their own; function, arms, items and values must be such as can be sent."""

    def __init__(self, function: Function, workers: int) -> None:
        super().__init__(function, workers)
        self._line: list[tuple[int, Any, Any]] = []
        self._staff = [_Worker(function) for _ in range(workers)]

    def submit(self, number: int, arm: Any, item: Any) -> None:
        """Let a call be made as soon as someone is free."""
        self._line.append((number, arm, item))
        self._hand_out()

    def _hand_out(self) -> None:
        for worker in self._staff:
            if worker.number == FREE and self._line:
                number, arm, item = self._line.pop(0)
                worker.number = number
                self.began[number] = perf_counter()
                worker.pipe.send((arm, item))

    def wait(self, seconds: float | None) -> list[Done]:
        """Return the calls that have ended, at least one unless the time is over."""
        busy = {worker.pipe: worker for worker in self._staff if worker.number != FREE}
        found = []
        for pipe in wait(list(busy), seconds):
            worker = busy[pipe]  # type: ignore[index]
            value, error = None, None
            try:
                value, error = worker.pipe.recv()
            except EOFError:
                error = RuntimeError("the process that made the call has ended")
                self._replace(worker)
            if worker.number != STARTING:
                begin = self.began.pop(worker.number)
                found.append(Done(worker.number, value, error, perf_counter() - begin))
            elif error is not None:
                raise InputError(
                    "no process could be started for the calls: the function must be in a "
                    "module that can be imported, and a script must make its own calls below "
                    "if __name__ == '__main__'"
                )
            worker.number = FREE
        self._hand_out()
        return found

    def _replace(self, worker: _Worker) -> None:
        worker.process.kill()
        worker.pipe.close()
        self._staff[self._staff.index(worker)] = _Worker(self.function)

    def abandon(self, number: int) -> None:
        """End the process that makes a call; another takes its place."""
        self.began.pop(number, None)
        for worker in [worker for worker in self._staff if worker.number == number]:
            self._replace(worker)
        self._hand_out()

    def close(self) -> None:
        """End all processes."""
        for worker in self._staff:
            worker.process.kill()
            worker.pipe.close()


def _serve(function: Function, pipe: Connection) -> None:
    """Make calls until the other end is closed."""
    pipe.send((None, None))  # it has started
    while True:
        try:
            arm, item = pipe.recv()
        except EOFError:
            return
        value, error = None, None
        try:
            value = function(arm, item)
        except BaseException as caught:
            error = caught
        try:
            pipe.send((value, error))
        except Exception as caught:  # what cannot be sent
            pipe.send((None, RuntimeError(f"{type(caught).__name__}: {caught}; {error!r}")))


def make_pool(kind: str | None, function: Function, workers: int) -> Pool:
    """Return a pool; of coroutines if the function is one and nothing is said."""
    coroutine = asyncio.iscoroutinefunction(function)
    kind = kind or ("asyncio" if coroutine else "threads")
    if kind not in KINDS:
        raise unknown("kind of pool", kind, KINDS)
    if coroutine and kind != "asyncio":
        raise InputError(
            f"the pool {kind!r} cannot await a coroutine function: write it with 'def', or "
            f"leave pool out"
        )
    if kind == "threads":
        return Threads(function, workers)
    if kind == "processes":
        return Processes(function, workers)
    if not coroutine:
        raise InputError(
            "the pool 'asyncio' awaits a coroutine function: write it with 'async def', or "
            "leave pool out"
        )
    return Coroutines(function, workers)
