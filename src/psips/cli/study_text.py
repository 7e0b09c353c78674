"""What the commands of ``psips study`` read from options and say about a study."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import TYPE_CHECKING

from psips.errors import counted
from psips.input.escaping import one_line

if TYPE_CHECKING:
    from psips.session.status import Status
    from psips.study import Receipt, Result, Study

TICKETS = 10  # open tickets that are listed
RELEASE = (
    "Beyond what the noise allows: confirm, correct or withdraw. If no result of an arm "
    "counts, measure it again: a result that agrees with a held one releases it."
)


def values_of(opened: Study, given: list[str] | None) -> dict[str, float]:
    """Read ``objective=number`` as often as it was given."""
    from psips.errors import InputError, quote
    from psips.input.quantities import parse_number

    values: dict[str, float] = {}
    for text in given or []:
        objective, equals, number = text.rpartition("=")
        if not equals or not objective:
            raise InputError(f"--value must be objective=number, got {quote(text)}")
        if objective in values:
            raise InputError(f"objective {quote(objective)} has several values: give one")
        values[objective] = parse_number(f"the value of {quote(objective)}", number)
    if not values:
        from shlex import quote as word

        objectives = " ".join(f"--value {word(f'{o}=...')}" for o in opened.problem.objectives)
        raise InputError(f"the result has no values: add {objectives}")
    return values


def status_lines(opened: Study, known: Status, found: str) -> str:
    """Say what is known of a study, which tickets are open, and what waits."""
    from psips.session.status_text import WIDTH, cut
    from psips.session.tolerance_report import earlier

    waiting, state = opened.open_tickets(), opened.state
    shown = [
        one_line(
            f"{t.id} {cut(t.arm)}{'' if t.item is None else f', {cut(t.item)}'} "
            f"(asked {t.asked[:16]}Z)"
        )
        for t in waiting[:TICKETS]
    ]
    if len(waiting) > TICKETS:
        shown.append(f"and {len(waiting) - TICKETS:,} more")
    tickets = "\n  ".join(["", *shown]) if shown else " none"
    text = f"{one_line(opened.name)}: {known}\n\nopen tickets:{tickets}\n\n"
    waits = held(opened.held)
    for seq, change in sorted(state.proposals.items()):
        waits += one_line(f"event {seq} ({change['kind']}, by {cut(change['user'], 15)}) ")
        waits += "waits for another person to confirm it\n"
    if waits:
        text += f"{waits}\n"
    saved = earlier(opened.savings())
    if saved:
        said = one_line(f"a tolerance would have stopped this earlier: {saved}")
        text += "\n".join(wrap(said, WIDTH)) + "\n\n"
    if found:  # by the diagnostics
        text += f"{found} (psips report says more)\n\n"
    return f"{text}{counted(state.seq, 'event')} in the log; hash of the last:\n{state.hash}"


def verdict_of(opened: Study) -> str:
    """Say what a stopped study found."""
    from psips.diagnostics.lack_of_fit import fit_of

    fit = fit_of(opened.problem, opened.state.session.engine.belief)
    caveat = "" if fit is None else fit.caveat
    return f"stopped; {opened.state.session.claim}{caveat}"


def recorded(receipt: Receipt) -> str:
    """Say which results were recorded."""
    new = receipt.numbers
    known = f", known already {receipt.known}" if receipt.known else ""
    if not new:
        return f"recorded nothing{known}"
    if len(new) == 1:
        return f"recorded result {new[0]}{known}"
    return f"recorded {counted(len(new), 'result')}, {new[0]} to {new[-1]}{known}"


def held(results: Iterable[Result]) -> str:
    """Say which results do not count yet, and what releases them, in lines that fit."""
    from psips.input.quantities import in_words
    from psips.session.status_text import WIDTH, cut

    lines: list[str] = []
    for result in results:
        values = ", ".join(in_words(value) for value in result.values)
        text = f"held, does not count: result {result.number} of {cut(result.arm)} ({values})"
        lines += wrap(one_line(text), WIDTH, subsequent_indent="  ")
    if lines:
        lines += wrap(RELEASE, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "".join(f"{line}\n" for line in lines)


def released(receipt: Receipt) -> str:
    """Say which results count again after a change, a line each."""
    return "".join(
        f"\nresult {number} counts again: nothing contradicts it any more"
        for number in receipt.released
    )


def skipped(receipt: Receipt) -> str:
    """Say which lines of a file were left out, and what to do when they are complete."""
    if not receipt.skipped:
        return ""
    return (
        f"\nleft out, a value is missing: {', '.join(receipt.skipped)}; once complete, tell "
        "them in a file of their own, without the others"
    )


def progress_of(opened: Study) -> str:
    """Say whether the study has stopped, and if not how far it is."""
    from psips.session.status import quick_progress

    if opened.stopped:
        return verdict_of(opened)
    session, told = opened.state.session, len(opened.told)
    counted = f"{told:,} result{'' if told == 1 else 's'} in all"
    if session.results < told:
        counted = f"{session.results:,} of {told:,} results count"
    progress = quick_progress(session.noisy, session.engine)
    return f"not stopped: {counted}" + (f"; {progress.short} to the stop" if progress else "")
