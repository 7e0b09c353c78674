"""Where simulated runs are done: in threads of this process, or on a Dask cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from psips.errors import InputError, quote

T = TypeVar("T")
R = TypeVar("R")

SCHEDULER_TIMEOUT = 10.0  # seconds in which a Dask scheduler must answer
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
    client = client_of(dask)
    token = _CLIENT.set(client)
    try:
        yield
    finally:
        _CLIENT.reset(token)
        if isinstance(dask, str):
            client.close()


def client_of(dask: Any) -> Any:
    """Return the Dask client given, or at the address given, or in scope; or None."""
    if dask is None:
        if "distributed" not in sys.modules:
            return None
        from distributed import default_client

        try:
            return default_client()  # type: ignore[no-untyped-call]
        except ValueError:
            return None
    if not isinstance(dask, str):
        return dask
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "a Dask cluster needs the package: pip install 'psips[dask]'"
        ) from None
    try:
        return Client(dask, timeout=SCHEDULER_TIMEOUT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {quote(dask)}: {error}") from None


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
