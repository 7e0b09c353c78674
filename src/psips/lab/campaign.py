"""Campaigns: many runs on local cores or on a Dask cluster, each saved as it ends.

The file of a campaign names each finished run by a hash of everything that decides it. What
is there is not computed again, so a campaign that was interrupted goes on where it was. A run
depends on its own data and on the campaign's seed, never on who computes it.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from os import PathLike
from typing import Any

from psips.errors import InputError, quote
from psips.lab.cells import Cell, perform
from psips.simulation.cluster import client_of

ATTEMPTS = 3  # a run that ends its worker this often is left out
IDLE = 10  # seconds after which a worker without work ends, should its parent be gone
PREFETCH = 2  # runs sent to a Dask cluster for each of its threads

Outcome = dict[str, Any]


class Campaign:
    """Runs to be done, and the file that keeps those that are.

    Parameters
    ----------
    cells : sequence of Cell
        Equal cells are one run.
    path : path
        An SQLite file, made if it is not there.
    seed : int
        Run i of every cell uses the i-th child of ``SeedSequence(seed)``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> cells = [Cell("correlated", {"delta": 0.1}, run, {"rho": -0.9}) for run in range(3)]
    >>> with TemporaryDirectory() as folder:
    ...     campaign = Campaign(cells, f"{folder}/campaign.sqlite")
    ...     campaign.run(jobs=1)
    ...     [outcome["stopped"] for outcome in campaign.outcomes()]
    []
    [True, True, True]
    """

    def __init__(self, cells: Sequence[Cell], path: str | PathLike[str], seed: int = 0) -> None:
        self.seed = seed
        self.keys = [cell.key(seed) for cell in cells]
        self._cells = dict(zip(self.keys, cells, strict=True))
        self._file = _File(path)

    def missing(self) -> list[str]:
        """Return the keys of the runs to be done: first run 0 of all cells, then run 1, ...

        Progress is then even, and what an interrupted campaign has is a fair sample.
        """
        done = self._file.keys()
        left = [key for key in self._cells if key not in done]
        return sorted(left, key=lambda key: self._cells[key].run)

    def run(
        self,
        *,
        jobs: int | None = None,
        dask: Any = None,
        progress: Callable[[], None] | None = None,
    ) -> list[Cell]:
        """Do the runs that are missing; return those that were left out.

        Parameters
        ----------
        jobs : int, optional
            Worker processes; 1 for this process alone, -1 for all cores. Not given: the Dask
            client in scope, if there is one, else all cores.
        dask : str or distributed.Client, optional
            Address of a scheduler, or its client.
        progress : callable, optional
            Called when a run has been saved.

        Returns
        -------
        list of Cell
            Runs whose worker died ``ATTEMPTS`` times.
        """
        missing = self.missing()
        with _workers(jobs, dask, len(missing)) as workers:
            lost: list[str] = []
            for key, outcome in self._compute(workers, missing, lost):
                self._file.save(key, outcome)
                if progress is not None:
                    progress()
        return [self._cells[key] for key in lost]

    def _compute(
        self, workers: list[_Worker], keys: list[str], lost: list[str]
    ) -> Iterator[tuple[str, Outcome]]:
        waiting, idle = deque(keys), list(workers)
        under_way: dict[Future[Outcome], tuple[_Worker, str]] = {}
        deaths: Counter[str] = Counter()
        while waiting or under_way:
            while waiting and idle:
                worker, key = idle.pop(), waiting.popleft()
                under_way[worker.submit(self._cells[key], self.seed)] = worker, key
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                worker, key = under_way.pop(future)
                idle.append(worker)
                try:
                    outcome = future.result()
                except worker.death:
                    worker.renew()
                    deaths[key] += 1
                    if deaths[key] < ATTEMPTS:
                        waiting.appendleft(key)
                    else:
                        lost.append(key)
                else:
                    yield key, outcome

    def outcomes(self) -> list[Outcome | None]:
        """Return the result of each cell, in their order; None where it is missing."""
        saved = self._file.load()
        return [saved.get(key) for key in self.keys]


class _File:
    """Finished runs by key. Two campaigns may write at once: equal keys have equal runs."""

    def __init__(self, path: str | PathLike[str]) -> None:
        try:
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")  # survives the death of the process
            self._db.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, run TEXT)")
        except sqlite3.Error as error:
            raise InputError(
                f"{quote(str(path))} cannot be the file of a campaign: {error}"
            ) from None

    def keys(self) -> set[str]:
        return {key for (key,) in self._db.execute("SELECT key FROM runs")}

    def save(self, key: str, outcome: Outcome) -> None:
        self._db.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (key, json.dumps(outcome)))

    def load(self) -> dict[str, Outcome]:
        return {key: json.loads(run) for key, run in self._db.execute("SELECT * FROM runs")}


class _Worker:
    """Who does one run at a time, and can be replaced when it dies."""

    def __init__(
        self,
        start: Callable[[], Any],
        death: type[BaseException] | tuple[()] = (),
        end: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._start, self._end = start, end
        self.death = death
        self._executor = start()

    def submit(self, cell: Cell, seed: int) -> Future[Outcome]:
        future: Future[Outcome]
        try:
            future = self._executor.submit(perform, cell, seed)
        except self.death:  # it died idle, which is no run's fault
            self.renew()
            future = self._executor.submit(perform, cell, seed)
        return future

    def renew(self) -> None:
        self.end()
        self._executor = self._start()

    def end(self) -> None:
        self._end(self._executor)


class _Here(Executor):
    """Runs are done in this process, at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def _workers(jobs: int | None, dask: Any, runs: int) -> Iterator[list[_Worker]]:
    """Give the workers of a campaign, and end those that were started for it."""
    client = client_of(dask) if jobs is None or dask is not None else None
    if client is not None:
        from distributed import KilledWorker

        executor = client.get_executor(pure=False)
        threads = max(1, sum(client.nthreads().values()))
        try:
            yield [_Worker(lambda: executor, KilledWorker) for _ in range(PREFETCH * threads)]
        finally:
            executor.shutdown(wait=False)
            if isinstance(dask, str):
                client.close()
        return
    from joblib import cpu_count

    number = min(cpu_count() if jobs is None or jobs == -1 else jobs, max(1, runs))
    if number < 1:
        raise InputError(f"jobs must be at least 1, or -1 for all cores, got {jobs}")
    if number == 1:
        yield [_Worker(_Here)]
        return
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    # One pool of one process each: a pool that loses a process ends the others too.
    workers = [
        _Worker(
            lambda: ProcessPoolExecutor(max_workers=1, timeout=IDLE),
            BrokenProcessPool,
            lambda pool: pool.shutdown(wait=True, kill_workers=True),
        )
        for _ in range(number)
    ]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.end()
