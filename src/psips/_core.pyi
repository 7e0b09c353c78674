from typing import Any

from psips.aliases import Floats, Ints, Mask, Stream

# ------------------------------------------------------------ runs

TELL: int
ASK: int
RUN: int
PREDICT: int
NO_ROOM: int
NO_ARM: int
COVER_DEPTH: int
RATE_LEVELS: int

class Rules:
    """The steps of a run: which arm, the candidate set, whether to stop."""

    def __init__(self, choose: str, renew: str, judge: str, /) -> None: ...

def drive(
    run: Any, rules: Rules, source: Any, noise_key: Stream | None, mode: int, results: int
) -> int: ...
def pull(source: Any, key: Stream, arm: int, nth: int, x: Floats) -> Floats: ...
def pareto_mask(mu: Floats) -> Mask: ...
def solve_nnqp(G: Floats, b: Floats, y: Floats) -> None: ...
def tails(law: str, given: Floats) -> Floats: ...
def quantiles(law: str, given: Floats) -> Floats: ...
def layout() -> dict[str, tuple[int, dict[str, int]]]: ...

# ------------------------------------------------------------ predicted sets, probabilities

UNSEEN: float
CERTIFIED: float
FEW_ANSWERS: int

def predict(
    posterior: Any, inside: Mask, level: float
) -> tuple[
    tuple[Ints, Ints, Ints, Ints, Floats],
    tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats, Floats, Floats, Floats],
    int,
]: ...
def weigh_account(model: Any, belief: Any, account: Any) -> None: ...
def conclude_account(posterior: Any, front: Any, account: Any, outcome: Floats) -> bool: ...
def verdicts_by(account: Any, verdict: Ints) -> None: ...
def survey(search: Any, key: Stream) -> tuple[Floats, float]: ...
def change_probability(search: Any, key: Stream, draws: int) -> tuple[float, float]: ...
def probabilities(
    search: Any, key: Stream, draws: int, changes: Floats, common: float
) -> tuple[Floats, Floats]: ...

SPENT: float
LOOKS_PER_EFOLD: int
DIRECTIONS: int

def respond(
    posterior: Any, inside: Ints, ceiling: float
) -> tuple[float, Ints, Ints, Ints, Floats, Floats, Floats]: ...
def respond_limited(
    posterior: Any, limits: Any, allowed: Mask, inside: Mask
) -> tuple[float, Ints, Floats]: ...
def selected(mu: Floats, facts: Floats, limits: Any) -> tuple[Mask, Mask]: ...
def weigh_ratio(search: Any, calibration: Any, spare: float) -> tuple[float, float]: ...
def weigh_smaller(search: Any, calibration: Any, spare: float) -> tuple[int, float, float]: ...
def is_time(t: int, fresh: int) -> bool: ...
def log_spent(calibration: Any, informing: float, t: float) -> float: ...
def lone_level(log_rate: float) -> float: ...
def looked_at(log_rate: float) -> float: ...
def spending(delta: float, low: float, high: float) -> float: ...

# ------------------------------------------------------------ how results become a posterior

ENOUGH: float
ROUNDING: float

def learn(model: Any, belief: Any, arm: int, x: Floats) -> None: ...
def refit(model: Any, belief: Any) -> None: ...
def spans(frame: Floats, pulls: Floats) -> bool: ...
def students_share(freedom: float, level: float) -> float: ...
def least_freedom(delta: float) -> float: ...
def add_items(
    counts: Floats, sums: Floats, precision: Floats, between: Floats, V: Floats, B: Floats
) -> None: ...
def preview_items(
    counts: Floats, places: Ints, precision: Floats, within: Floats, between: Floats, H: Floats
) -> None: ...
def add_item_result(
    arm: int,
    result: Floats,
    count: Floats,
    sum: Floats,
    precision: Floats,
    within: Floats,
    between: Floats,
    V: Floats,
    F: Floats,
    G: Floats,
    B: Floats,
) -> None: ...
def expect_item_noise(
    arms: Ints,
    items: Ints,
    values: Floats,
    counts: Floats,
    precision: Floats,
    between: Floats,
    means: Floats,
    residuals: Floats,
    spreads: Floats,
    shares: Floats,
) -> None: ...
def add_rows(
    rows: Floats, arms: Ints, precisions: Floats, values: Floats, V: Floats, B: Floats
) -> None: ...
def solve_joint(
    V: Floats, B: Floats, Z: Floats, F: Floats, theta: Floats, X: Floats, G: Floats
) -> None: ...
def factor_of_inverse(V: Floats, F: Floats, G: Floats) -> None: ...

# ------------------------------------------------------------ verdicts

OPEN: int
IN: int
OUT: int

def settle_answers(
    model: Any, belief: Any, front: Any, log_inverse: float, known: Ints
) -> tuple[Ints, Ints]: ...
def open_verdicts(
    model: Any, belief: Any, front: Any, log_inverse: float, known: Ints
) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats]: ...
def further_results(
    model: Any,
    belief: Any,
    trial: Any,
    candidates: Mask,
    levels: Floats,
    comparisons: Ints,
    arms: Ints,
    weights: Floats,
) -> Ints: ...
def evidence_within(model: Any, belief: Any) -> tuple[Floats, Floats, Floats]: ...
def build_info() -> dict[str, str | bool]: ...
