"""Short names for options whose commands are long and mostly alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

LONG = 16  # characters of a name from which words that all have in common are left out
ELLIPSIS = "…"


@dataclass(frozen=True)
class Labels:
    """What options are called where there is little room, by name."""

    short: dict[str, str] = field(default_factory=dict)
    left_out: str = ""  # what was left out, in words; empty if nothing was

    def __getitem__(self, name: str) -> str:
        return self.short.get(name, name)


def labels_of(names: Sequence[str]) -> Labels:
    """Return short names: words at the start and the end that all have in common go.

    Examples
    --------
    >>> found = labels_of([f"gzip -{n} --stdout some/large/file > out.gz" for n in (1, 9)])
    >>> found.short["gzip -1 --stdout some/large/file > out.gz"], found.left_out
    ('gzip -1', 'all end in: --stdout some/large/file > out.gz')
    >>> labels_of(["xz", "gzip"]).short
    {'xz': 'xz', 'gzip': 'gzip'}
    """
    if max(map(len, names)) <= LONG:
        return Labels({name: name for name in names}, "")
    words = [name.split(" ") for name in names]
    fewest = min(map(len, words))
    end = 0
    while end < fewest - 1 and len({one[-1 - end] for one in words}) == 1:
        end += 1
    start = 1  # the program's own name stays
    while start < fewest - end and len({tuple(one[: start + 1]) for one in words}) == 1:
        start += 1
    start = start if start > 1 and start < fewest - end else 0
    short, said = {}, []
    for name, one in zip(names, words, strict=True):
        middle = one[start : len(one) - end]
        first = [one[0], ELLIPSIS] if start else []
        short[name] = " ".join([*first, *middle])
    if len(set(short.values())) < len(names):
        return Labels({name: name for name in names}, "")
    if start:
        said.append(f"{ELLIPSIS} stands for: {' '.join(words[0][1:start])}")
    if end:
        said.append(f"all end in: {' '.join(words[0][len(words[0]) - end :])}")
    return Labels(short, "; ".join(said))
