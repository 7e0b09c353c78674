"""Studies that are open in this process: where all requests to this process work on it.

A study object belongs to one thread, so a lock lets one request at a time use it. What others,
here or in other processes, have recorded is read from the log each time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from psips.errors import InputError, unknown
from psips.session.dominance import Comparisons
from psips.store.database import DatabaseStore
from psips.study import Study
from psips.study.inputs import stamp
from psips.study.journal import Journal
from psips.study.people import VERSION, signature
from psips.study.schema import TOLD
from psips.web.view_models import (
    Noise,
    StudyView,
    TimeSeries,
    noise_of,
    time_series_of,
    view_of,
)

T = TypeVar("T")

FRESH = 0.15  # seconds for which the number of the last event is not looked up again
PROGRAM = f"psips {VERSION}, serve"
UNDONE = 20  # measurements of an event that can still be undone by a button
REST = 5.0  # times as long as a figure took to draw, it is not drawn again
LOG = logging.getLogger("psips.web")


class CachedStudy:
    """A study that is open in this process."""

    def __init__(self, name: str, store: DatabaseStore) -> None:
        self.name = name
        self._store = store
        self._lock = threading.RLock()
        self._journal = Journal(name, store)
        self._study = Study(self._journal)
        self.problem = self._study.problem  # never changes
        self._view: StudyView | None = None
        self._time_series: TimeSeries | None = None
        self._noise: Noise | None = None
        self._compared: tuple[int, Comparisons] | None = None  # at which event
        self._drawing = threading.Lock()
        self._due = 0.0  # when figures may be drawn again
        self._last, self._refreshed = 1, 0.0  # the last event known, and when it was read
        self._polling = threading.Lock()

    @contextmanager
    def study(self, user: str | None = None) -> Iterator[Study]:
        """Lend the study to one request; what is recorded meanwhile is by ``user``."""
        with self._lock:
            self._journal.by = {**signature(user), "program": PROGRAM}
            yield self._study

    def last(self) -> int:
        """Return the number of the last event, whoever recorded it, a moment late at most."""
        with self._polling:
            if time.monotonic() - self._refreshed > FRESH:
                events = self._store.read(self.name, self._last)
                self._last = events[-1].seq if events else self._last
                self._refreshed = time.monotonic()
            return self._last

    def view(self) -> StudyView:
        """Return what pages show, worked out once for each event."""
        with self._lock:
            state, at = self._study.state, stamp(self._journal.now())
            kept = self._view
            if kept is None or kept.event != state.seq or kept.until <= at:
                kept = self._view = view_of(state, at, self._store, kept)
            return kept

    def comparisons(self) -> Comparisons:
        """Return the options compared with each other, worked out once for each event."""
        with self._lock:
            state = self._study.state
            kept = self._compared
            if kept is None or kept[0] != state.seq:
                kept = self._compared = (state.seq, state.session.comparisons())
            return kept[1]

    def noise(self) -> Noise:
        """Return whether the noise is as assumed, worked out once for each event."""
        with self._lock:
            state = self._study.state
            if self._noise is None or self._noise.event != state.seq:
                self._noise = noise_of(state)
            return self._noise

    def seconds_left(self, event: int, user: str | None, seconds: int) -> int:
        """Return for how long a person can undo what they told with an event; 0 if not."""
        found = self._store.read(self.name, event - 1, event)
        if not found or found[0].kind != TOLD or len(found[0].payload["results"]) > UNDONE:
            return 0
        if found[0].payload["by"].get("user") != signature(user)["user"]:
            return 0
        told = datetime.fromisoformat(found[0].at)
        return max(0, seconds - int((self._journal.now() - told).total_seconds()))

    def time_series(self) -> TimeSeries:
        """Return the study over time.

        While it is worked out, and for a while after, everybody gets the one before: a long
        study that is told results all the time must not be drawn all the time.
        """
        kept = self._time_series
        rests = time.monotonic() < self._due
        if kept is not None and (rests or not self._drawing.acquire(blocking=False)):
            return kept
        if kept is None:
            self._drawing.acquire()
        try:
            with self._lock:
                begun = time_series_of(self._study)
            kept = self._time_series
            if kept is None or kept.event != begun.event:
                started = time.monotonic()
                kept = self._time_series = (
                    begun.drawn()
                )  # without the lock: it may take seconds
                took = time.monotonic() - started
                self._due = started + took + REST * took
            return kept
        finally:
            self._drawing.release()


class StudyCache:
    """The studies of a store. They are read ahead, so that no one waits for a long log."""

    def __init__(self, store: DatabaseStore) -> None:
        self.store = store
        self._studies: dict[str, Future[CachedStudy]] = {}
        self._lock = threading.Lock()
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="psips-read")
        self._reports: dict[str, tuple[int, str]] = {}
        self._writing = threading.Lock()

    def names(self) -> list[str]:
        """Return the names of the studies."""
        return self.store.studies()

    def begin(self, name: str) -> Future[CachedStudy]:
        """Have a study read, if it is not yet."""
        with self._lock:
            found = self._studies.get(name)
            failed = found is not None and found.done() and found.exception() is not None
            if found is None or failed:
                found = self._studies[name] = self._readers.submit(self._open, name)
            return found

    def _open(self, name: str) -> CachedStudy:
        if not self.store.read(name, 0, 1):
            raise unknown("study", name, self.names())
        cached = CachedStudy(name, self.store)
        cached.view()
        return cached

    def get(self, name: str, wait: float | None = None) -> CachedStudy:
        """Return a study, once it has been read.

        Parameters
        ----------
        name : str
        wait : float, optional
            Seconds after which to give up with `TimeoutError`.
        """
        return self.begin(name).result(wait)

    def warm(self) -> None:
        """Have every study read, in the background."""
        try:
            for name in self.names():
                self.begin(name)
        except InputError as error:
            LOG.warning("%s", error)

    def report(self, name: str, write: Callable[[Study], str]) -> str:
        """Write a report, one at a time, which replays the log; once for each event."""
        with self._writing:
            last = self.get(name).last()
            kept = self._reports.get(name)
            if kept is None or kept[0] != last:
                study = Study.open(name, self.store)
                text = write(study)
                kept = self._reports[name] = (study.state.seq, text)
            return kept[1]

    def close(self) -> None:
        """End what is under way; nothing new is begun."""
        self._readers.shutdown(wait=False, cancel_futures=True)
