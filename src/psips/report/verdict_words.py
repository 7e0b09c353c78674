"""What is concluded of an answer and what is proven of it, in words that do not contradict."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from psips.session.status import Status


class VerdictWords(NamedTuple):
    """Of one answer: what the stopping rule concludes, and what is proven by itself."""

    finding: str
    proof: str


def verdict_words(known: Status, proven: bool, candidate: bool, verdict: str) -> VerdictWords:
    """Return the words for an answer.

    Parameters
    ----------
    known : Status
    proven : bool
        Whether the stopping rule proves the set that it claims.
    candidate : bool
        Whether the answer is in the candidate set.
    verdict : str
        ``"in"``, ``"out"`` or ``"open"``: what is proven of the answer by itself.
    """
    words = {"in": "optimal", "out": "not optimal", "open": "not yet"}
    if known.tolerated is not None:
        words.update({"in": "may be in", "out": "may be left out"})
    finding = words["in"] if candidate else words["out"]
    if not known.stopped or (known.goal and verdict == "open"):
        finding = "candidate" if candidate else ""
    proof = words[verdict]
    if verdict == "open" and known.stopped and not known.goal:
        proof = f"{finding}, with the set" if proven else "not by itself"
    return VerdictWords(finding, proof)
