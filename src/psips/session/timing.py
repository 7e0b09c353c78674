"""A time limit: when asking ends."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from psips.errors import InputError
from psips.input.durations import duration_text, read_duration

Clock = Callable[[], float]  # seconds since some time


class TimeLimit:
    """Time that may be spent from the first ask or result on.

    It decides whether more is asked for, and never what: what a session asks for does not
    depend on a clock.

    Parameters
    ----------
    given : duration
        As "1h", or seconds.
    clock : callable
        Gives seconds.

    Examples
    --------
    >>> times = iter([100.0, 150.0, 161.0])
    >>> limit = TimeLimit("1min", lambda: next(times))
    >>> limit.start()
    >>> limit.over, limit.over
    (False, True)
    """

    def __init__(self, given: object, clock: Clock = monotonic) -> None:
        self.seconds = read_duration("the time limit", given)
        self.clock = clock
        self._before = 0.0  # spent before the clock was started
        self._begun: float | None = None

    @property
    def elapsed(self) -> float:
        """Seconds spent so far."""
        return self._before + (0.0 if self._begun is None else self.clock() - self._begun)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.elapsed >= self.seconds

    def start(self) -> None:
        """Start the clock, unless it runs already."""
        if self._begun is None:
            self._begun = self.clock()

    def go_on_from(self, elapsed: float) -> None:
        """Count from an amount that was spent elsewhere."""
        self._before, self._begun = elapsed, None

    def check(self) -> None:
        """Refuse to ask for more once the time is over."""
        if self.over:
            raise InputError(
                f"the time limit, {duration_text(self.seconds)}, is over "
                f"({duration_text(self.elapsed)} since the first ask or result): results are "
                f"still taken"
            )
