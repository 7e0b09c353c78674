"""Whether more or less of a metric is better, where only its name is known.

A name settles it (``cost``, ``accuracy``) or it does not, and then people are asked: a
direction that is wrong gives a wrong front with full confidence.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from psips.errors import InputError, listing, quote
from psips.input.checks import DIRECTIONS, read_direction, read_names, read_objectives

# Words in the name of a metric of which less is better.
LESS = re.compile(
    r"adverse|bias|brier|bugs?|bytes|cer|co2|consumption|costs?|crash(es)?|deaths?|defects?|"
    r"delays?|discomfort|downtime|dropouts?|durations?|elapsed|emissions?|errors?|expenses?|"
    r"failures?|fees?|fid|footprint|harms?|impurity|jitter|lag|latency|latencies|logloss|"
    r"loss|losses|mae|mape|memory|miss|misses|milliseconds|minutes|mismatch(es)?|mortality|ms|"
    r"mse|nll|"
    r"overhead|pain|par10|perplexity|prices?|ram|regret|rejects|relapses?|risks?|rmse|rss|"
    r"runtimes?|scrap|sec|secs|seconds|sizes?|slowdown|spend|timeouts?|times?|tokens?|"
    r"toxicity|violations|wait|walltime|waste|wear|wer"
)
# Words in the name of a metric of which more is better.
MORE = re.compile(
    r"acc|accuracy|accuracies|adherence|antibody|antibodies|auc|auprc|auroc|availability|"
    r"bandwidth|benefits?|bleu|clicks|compliance|conversions?|correct|correctness|coverage|"
    r"ctr|durability|earnings|effectiveness|efficacy|efficiency|engagement|f1|faithfulness|"
    r"fps|gains?|goodput|helpfulness|income|iou|kappa|lifetime|likelihood|margin|match|mcc|mrr|"
    r"ndcg|pass|passed|precision|profits?|psnr|purity|qps|quality|r2|ratings?|recall|"
    r"reliability|retention|revenue|rewards?|robustness|rouge|rps|safety|sales|"
    r"satisfaction|savings?|scores?|sensitivity|snr|solved|specificity|speed|speedup|ssim|"
    r"strength|success|successes|survival|survived|throughput|tps|uplift|uptime|usability|"
    r"utility|welfare|wins?|yields?"
)
# Words that turn others round: less of a "cost reduction" is not better.
TURNING = re.compile(r"avoided|free|inverse|neg|negative|no|non|not|reduced|reduction|saved")


class DirectionWarning(UserWarning):
    """A direction was taken from the name of a metric."""


class Settled(NamedTuple):
    """Objectives with a direction each, and whose direction was guessed by the name."""

    objectives: dict[str, Any]  # as `Problem` takes them
    guessed: dict[str, str]  # from name to direction

    def __str__(self) -> str:
        return "; ".join(guess_text(name, way) for name, way in self.guessed.items())


def guess_direction(name: str) -> str | None:
    """Guess by its name whether more or less of a metric is better; None if it is not clear.

    Examples
    --------
    >>> guess_direction("ErrorRate"), guess_direction("yield"), guess_direction("cost (EUR)")
    ('min', 'max', 'min')
    >>> guess_direction("IgG"), guess_direction("survival time"), guess_direction("neg_loss")
    (None, None, None)
    """
    less, more = speaks_of(LESS, name), speaks_of(MORE, name)
    if less == more or speaks_of(TURNING, name):
        return None
    return "min" if less else "max"


def guess_text(name: str, way: str) -> str:
    """Say which direction was guessed."""
    return f"{name}: {'more' if way == 'max' else 'less'} is better (guessed by the name)"


def speaks_of(words: re.Pattern[str], name: str) -> bool:
    """Whether one of the words is in a name, also in one that is written like ErrorRate."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    found = [word.lower() for word in re.findall(r"[^\W_]+", split)]
    return any(
        words.fullmatch(word) or words.fullmatch(word.rstrip("0123456789")) for word in found
    )


def settle(ways: Mapping[str, str | None], how: Callable[[dict[str, str]], str]) -> Settled:
    """Guess the directions that are not given; ask for those that no name settles.

    Parameters
    ----------
    ways : mapping from name to direction, or None to guess
    how : callable
        Writes directions as people give them.
    """
    guessed = {name: guess_direction(name) for name, way in ways.items() if way is None}
    unclear = [name for name, way in guessed.items() if way is None]
    if unclear:
        example = {name: way or guessed[name] or "max" for name, way in ways.items()}
        raise InputError(
            f"whether more or less of {listing(unclear)} is better does not follow from the "
            f"name: say it, as in {how(example)} (max: more is better; min: less is better)"
        )
    sure = {name: way for name, way in guessed.items() if way is not None}
    return Settled({name: way or sure[name] for name, way in ways.items()}, sure)


def as_options(ways: Mapping[str, str]) -> str:
    """Write directions as they are given on the command line, where limits say theirs.

    Examples
    --------
    >>> as_options({"my metric": "max", "cost": "min", "seconds": "limit"})
    "--objective 'my metric=max' --objective cost=min"
    """
    from shlex import quote as word

    given = [f"{name}={way}" for name, way in ways.items() if way in DIRECTIONS]
    return " ".join(f"--objective {word(one)}" for one in given)


def _as_argument(ways: Mapping[str, str]) -> str:
    return f"objectives={ways}"


def with_directions(objectives: Any) -> Any:
    """Return objectives, as `Problem` takes them, with a direction for each.

    A direction that was guessed is a `DirectionWarning`.

    Examples
    --------
    >>> with_directions({"score": {"kind": "binary", "direction": "max"}, "price": "min"})
    {'score': {'kind': 'binary', 'direction': 'max'}, 'price': 'min'}
    """
    given = read_objectives(objectives, None)
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        return objectives  # `Problem` says what is wrong with it
    if not isinstance(given, Mapping):
        given = dict.fromkeys(read_names("objective", given))
    ways = {
        name: said.get("direction") if isinstance(said, Mapping) else said
        for name, said in given.items()
    }
    found = settle(ways, _as_argument)
    if found.guessed:
        warnings.warn(
            f"{found}: give objectives with their directions to be sure",
            DirectionWarning,
            stacklevel=3,
        )
    return {
        name: {**said, "direction": found.objectives[name]}
        if isinstance(said, Mapping)
        else found.objectives[name]
        for name, said in given.items()
    }


def read_ways(given: Iterable[str]) -> dict[str, str | None]:
    """Read objectives as given on the command line: a name, or ``name=max``, ``name=min``.

    Examples
    --------
    >>> read_ways(["accuracy", "seconds=min"])
    {'accuracy': None, 'seconds': 'min'}
    """
    found: dict[str, str | None] = {}
    for text in given:
        name, equals, way = text.rpartition("=")
        if not equals:
            name, way = text, ""
        else:
            way = read_direction(name, way, DIRECTIONS)
        if name in found:
            raise InputError(f"the objective {quote(name)} was given twice: give it once")
        found[name] = way or None
    return found
