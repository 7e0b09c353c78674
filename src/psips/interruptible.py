"""Calls into compiled code that Ctrl-C can end.

Python tells the main thread of a signal between two of its own instructions, so compiled code
that runs there cannot see signals. It runs in a thread of its own instead, while the main
thread waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPTED = 130  # the code of a command that Ctrl-C has ended
LOOK = 0.1  # seconds between two looks, for systems where waiting does not see signals either
GRACE = 0.8  # seconds that code which was asked to end is waited for


def interruptible(call: Callable[..., T], *args: Any, stop: Any = None) -> T:
    """Return ``call(*args)``; Ctrl-C is seen meanwhile.

    Parameters
    ----------
    call : callable
        Compiled, and it releases the interpreter's lock.
    *args
    stop : array, optional
        Its last entry becomes 1 at Ctrl-C: the code looks at it and ends early. Code that
        has none ends by itself, unheard; it must change nothing that anyone looks at.

    Examples
    --------
    >>> interruptible(max, 2, 3)
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return call(*args)
    if stop is not None:
        stop[-1] = 0.0
    results: list[T] = []
    failures: list[BaseException] = []
    over = threading.Event()

    def work() -> None:
        try:
            results.append(call(*args))
        except BaseException as failure:  # raised again where it belongs
            failures.append(failure)
        finally:
            if stop is not None:
                stop[-1] = 0.0
            over.set()

    try:
        threading.Thread(target=work, daemon=True, name="psips").start()
        while not over.wait(LOOK):
            pass
    except BaseException:
        if stop is not None and not over.is_set():
            stop[-1] = 1.0
            over.wait(GRACE)
        raise
    if failures:
        raise failures[0]
    return results[0]
