"""Where simulated runs are done: in threads of this process, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_CLIENT: ContextVar[Any] = ContextVar("client", default=None)


@contextmanager
def on_dask(dask: Any) -> Iterator[None]:
    """Do the runs that are simulated inside on a cluster; what they come to is the same.

    Parameters
    ----------
    dask : str, distributed.Client or None
        Address of a scheduler, or its client; None for this process. The workers need the
        same version of psips.
    """
    if dask is None:
        yield
        return
    from psips.simulation.campaign import client_of

    client = client_of(dask)
    token = _CLIENT.set(client)
    try:
        yield
    finally:
        _CLIENT.reset(token)
        if isinstance(dask, str):
            client.close()


def spread(
    function: Callable[[T], R],
    items: Sequence[T],
    jobs: int,
    progress: Callable[[R], None] | None = None,
) -> list[R]:
    """Return what a function makes of each item, in their order.

    Parameters
    ----------
    function : callable
        Must survive pickling if there is a cluster.
    items : sequence
    jobs : int
        Threads, -1 for all cores; of no account on a cluster.
    progress : callable, optional
        Called here with each value when it is there.
    """
    client = _CLIENT.get()
    if client is None:
        return _in_threads(function, items, jobs, progress)
    from distributed import as_completed

    futures = client.map(function, items, pure=False)
    try:
        for future in as_completed(futures):  # type: ignore[no-untyped-call]
            value = future.result()
            if progress is not None:
                progress(value)
        return [future.result() for future in futures]
    finally:
        client.cancel(futures)  # those left over after an exception


def _in_threads(
    function: Callable[[T], R],
    items: Sequence[T],
    jobs: int,
    progress: Callable[[R], None] | None,
) -> list[R]:
    from joblib import Parallel, delayed

    def reported(item: T) -> R:
        value = function(item)
        if progress is not None:
            progress(value)
        return value

    done: list[R] = Parallel(n_jobs=jobs, backend="threading")(
        delayed(reported)(item) for item in items
    )
    return done
