"""Evidence from each arm's results by themselves, where no covariance of all arms is known.

The claim "i beats j by more than o in objective c", mu_i - mu_j > o, from two capitals. Let
U_a(m) be a process that is made of the values of arm a in c and is large if these show that its
mean is above m. What is needed of it: it is nonnegative; at the mean of the arm it starts from
an expectation of at most 1 and stays a supermartingale; and it does not increase in m. D_a(m)
is the same of the negated values, "the mean is below m": it does not decrease in m. The
evidence of the claim is

    E = inf over all m of log U_i(m) + log D_j(m - o).

If the claim is false, mu_i <= mu_j + o, put m = mu_i: U_i(m) = U_i(mu_i) and
D_j(m - o) <= D_j(mu_j), so that E <= log U_i(mu_i) + log D_j(mu_j), at every time.

Capitals. q + (1 - q) W(m): a share q is kept and never staked, so that log U >= log q. W is an
average over a few stakes that are fixed beforehand, with weights that sum to 1. With n values
of mean x-hat, e = x-hat - m, and s^2 the mean square of their deviations from x-hat:

* NORMAL, a known variance: shifts of the mean that are half normal with precision
  rho / variance, as in `psips.kernels.certificates`,
  W = (1 + n / rho)^(-1/2) 2 Phi(v) exp(v^2 / 2), v = n e / sqrt(variance (n + rho)).

* STUDENT, normal noise whose variance is not known. The values less m, all divided by the size
  of the first, have a law that depends on t, the mean less m in standard deviations, alone. Let
  f_t be the density of these scale-free values. f_t / f_0 is a likelihood ratio of ever more
  observations, a martingale in their history if m is the mean; W is its average over a half
  normal t > 0 of precision rho. As the scale 1 / u of the values is integrated out by du / u,

      f_t  ~  int u^(n - 1) exp(-(u^2 (s^2 + e^2) - 2 u t e + t^2) n / 2) du,

  and then t over its law, with Q = s^2 + e^2 rho / (n + rho),

      W = (rho / (n + rho))^(1/2) ((s^2 + e^2) / Q)^(n / 2) 2 F(k),

  k^2 = n e^2 / ((n + rho) Q), F(k) = P(Z <= k chi_n), Z normal and chi_n independent of it.
  P(Z > z) <= exp(-z^2 / 2) / 2 for z > 0, hence F(k) >= 1 - (1 + k^2)^(-n / 2) / 2, which is
  used; for e <= 0 W is taken for 0. With u scaled by the root of s^2 + e^2, f_t / f_0 is seen
  to depend on e / (s^2 + e^2)^(1/2) alone, and to increase with it as t > 0: W does not
  increase in m.

* BOUNDED, values of any law from f to g: with y = (x - m) / (m - f) >= -1 and a stake
  0 < l < 1, W = prod (1 + l y): each factor is at least 0 and has mean 1 if m is the mean given
  the past. The stake is b (m - f) / (g - f), a factor 1 + b (x - m) / (g - f), or MOST if that
  is less, a factor 1 - l + l (x - f) / (m - f): neither increases in m. Instead of W a bound
  is computed, from four moments. With u = l y,

      log(1 + u) = u - u^2 / 2 + u^3 / 3 - u^4 int_0^1 r^3 / (1 + u r) dr,

  and the integral falls in u: as u >= -l, it is at most its value at -l, which makes

      log(1 + l y) >= l y - (l y)^2 / 2 + (l y)^3 / 3 - h(l) y^4,
      h(l) = -log(1 - l) - l - l^2 / 2 - l^3 / 3,

  with equality at y = -1. The bound is poor for large y; so where m - f is less than half of
  x-hat - f, that at the half is taken, which W is not below.

* BINARY, values f or g: the same, and W = (1 + l (g - m) / (m - f))^ones (1 - l)^zeros exactly.

Two arms. NORMAL, BOUNDED, BINARY: at the true means every value multiplies one of the two
capitals' parts by a factor whose mean given all of the past is at most 1, whichever arm was
chosen. So U_i D_j is a nonnegative supermartingale, and P(E >= L at any time) <= exp(-L).
STUDENT: W is a martingale in the history of the scale-free values alone, and who chooses the
arms sees more; the product is none. But results of different arms are independent, and
the n-th value of an arm does not depend on when it was asked for. So the suprema of U_i and of
D_j over all counts, whoever chooses, are independent, each is above x with probability at most
1 / x, and their product above exp(L') with probability at most (1 + L') exp(-L'). E is counted
as E - log(1 + E): again P(it ever reaches L) <= exp(-L).

The infimum is bounded from below by cells: on [l, r] the capitals are at least U_i(r) and
D_j(l - o). Beyond the last cells, well outside of x-hat_j + o and x-hat_i, the kept shares
serve.

An objective may be missing in some results if that does not depend on its value: counts and
moments are those of the values there are.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.belief import Belief
from psips.kernels.grids import floats, floats2
from psips.kernels.jit import bare, part
from psips.kernels.late import late
from psips.kernels.model import EACH, SHARED, Model

# Precisions of the mixture, in pulls, and their weights. A mixture is tightest for arms with
# some ten times as many pulls as rho.
RHOS = (5.0, 80.0)
LOG_WEIGHTS = (math.log(0.1), math.log(0.9))
# Stakes b, each half of the one before: of few values, or without much noise, large ones win.
STAKES = (3.8, 1.9, 0.95, 0.475, 0.2375, 0.11875, 0.059375, 0.0296875, 0.01484375)
MOST = 0.95  # of a capital that is staked
KEPT = 0.1  # q
LOG_KEPT = math.log(KEPT)
LOG_STAKED = math.log1p(-KEPT)
LOG_PART = LOG_STAKED - math.log(len(STAKES))
OUTSIDE = 1.0  # leads: how far cells go beyond the two means
TIGHT = 0.02  # nats to which the infimum is found
GOLDEN = 0.6180339887498949
SEARCH = 12  # steps of the search for it
HALVINGS = 12  # of a cell, at most
BISECTIONS = 64  # of an interval, at most: by then its ends are neighbouring numbers
LARGEST = 700.0  # exponents are cut here

NORMAL, STUDENT, BOUNDED, BINARY = range(4)  # what is known of the values of an objective
# Places in what is known of an arm: values there are, mean, moments about it, least value, and
# how far the largest is from it.
COUNT, MEAN, SECOND, THIRD, FOURTH, FLOOR, WIDTH = range(7)
PLACES = 7


@bare
def singly(model: Model) -> bool:
    """Whether claims are made of each objective by itself, with the evidence of this module."""
    return model.noise.mode != SHARED or model.noise.partial


@bare
def law_of(model: Model, c: int) -> int:
    """Return what is known of the values of an objective."""
    noise = model.noise
    if noise.mode == SHARED or noise.mode == EACH:
        return NORMAL
    if noise.binary[c] != 0.0:
        return BINARY
    return BOUNDED if noise.low[c] > -np.inf else STUDENT


@bare
def describe(model: Model, belief: Belief, a: int, c: int, sign: float, out: Floats) -> None:
    """Write what is known of arm ``a`` in ``c`` into ``out``; ``sign`` -1 negates its values.

    Where results to come are imagined, N is above the results told: more of the same.
    """
    s, noise = belief.scatter, model.noise
    n = s.count[a, c, c]
    out[COUNT] = 0.0
    if n == 0.0:
        return
    first, second = s.sums[a, c, c] / n, s.cross[a, c, c] / n
    out[COUNT] = n * belief.N[a] / belief.pulls[a]
    out[MEAN] = sign * (s.origin[a, c] + first)
    out[SECOND] = max(second - first * first, 0.0)
    law = law_of(model, c)
    if law == NORMAL:
        out[SECOND] = noise.given[a, c, c]
    elif law == BOUNDED:
        third, fourth = s.higher[a, c, 0] / n, s.higher[a, c, 1] / n
        out[THIRD] = sign * (third - 3.0 * first * second + 2.0 * first**3)
        rest = first * first * (6.0 * second - 3.0 * first * first)
        out[FOURTH] = max(fourth - 4.0 * first * third + rest, 0.0)
    if law >= BOUNDED:
        out[FLOOR] = noise.low[c] if sign > 0.0 else -noise.high[c]
        out[WIDTH] = noise.high[c] - noise.low[c]


@bare
def capital(law: int, arm: Floats, m: float) -> float:
    """Log U(m), or less: how much the values tell against a mean of ``m`` or below."""
    n, e = arm[COUNT], arm[MEAN] - m
    if n < 2.0 or (law == STUDENT and e <= 0.0):
        return LOG_KEPT
    total = 1.0  # over the share kept
    if law == NORMAL or law == STUDENT:  # noqa: SIM109
        square = arm[SECOND]
        if square <= 0.0:
            return LOG_KEPT
        for k in range(len(RHOS)):
            more = n + RHOS[k]
            one = LOG_STAKED + LOG_WEIGHTS[k] - 0.5 * math.log1p(n / RHOS[k])
            if law == NORMAL:
                v = n * e / math.sqrt(square * more)
                one += math.log(math.erfc(-v * 0.7071067811865476)) + 0.5 * v * v
            else:
                inner = square + e * e * RHOS[k] / more
                one += 0.5 * n * math.log((square + e * e) / inner)
                one += math.log(2.0 - math.exp(-0.5 * n * math.log1p(n * e * e / more / inner)))
            total += math.exp(min(one - LOG_KEPT, LARGEST))
        return LOG_KEPT + math.log(total)
    above, ones = m - arm[FLOOR], (arm[MEAN] - arm[FLOOR]) / arm[WIDTH]
    if above <= 0.0:
        return np.inf if ones > 0.0 else LOG_KEPT
    if law == BOUNDED:
        above = max(above, 0.5 * (arm[MEAN] - arm[FLOOR]))
    e = (arm[MEAN] - arm[FLOOR] - above) / above
    second, third = arm[SECOND] / above**2, arm[THIRD] / above**3
    square = second + e * e
    cube = third + e * (3.0 * second + e * e)
    fourth = arm[FOURTH] / above**4 + e * (4.0 * third + e * (6.0 * second + e * e))
    for k in range(len(STAKES)):
        stake = min(STAKES[k] * above / arm[WIDTH], MOST)
        left = math.log1p(-stake)
        if law == BINARY:
            one = ones * math.log1p(stake * (arm[WIDTH] / above - 1.0)) + (1.0 - ones) * left
        else:
            bend = -left - stake * (1.0 + stake * (0.5 + stake / 3.0))
            one = stake * (e - stake * (0.5 * square - stake * cube / 3.0)) - bend * fourth
        total += math.exp(min(LOG_PART + n * one - LOG_KEPT, LARGEST))
    return LOG_KEPT + math.log(total)


@bare
def counted(law: int, both: float) -> float:
    """Return the evidence of two capitals whose logarithms sum up to ``both``."""
    if both <= 0.0:
        return 0.0
    return both - math.log1p(both) if law == STUDENT else both


@part
def evidence_apart(
    law: int, first: Floats, second: Floats, offset: float, enough: float
) -> float:
    """E of "the first beats the second by more than ``offset``"; a lower bound.

    ``second`` is described with its values negated. Where E is below ``enough``, some number
    that is too.
    """
    low, high = offset - second[MEAN], first[MEAN]
    if first[COUNT] == 0.0 or second[COUNT] == 0.0 or high <= low:
        return 0.0
    low, high = low - OUTSIDE * (high - low), high + OUTSIDE * (high - low)
    best = np.inf  # of the points looked at
    left, right = low, high
    known, value = 0.0, np.inf  # a point of the golden section, and what is there
    for k in range(SEARCH):
        m = left + right - known if k > 0 else right - GOLDEN * (right - left)
        here = capital(law, first, m) + capital(law, second, offset - m)
        best = min(best, here)
        if counted(law, best) < enough:
            return counted(law, best)
        if k > 0 and (here < value) == (m > known):
            left = min(m, known)
        elif k > 0:
            right = max(m, known)
        if here < value:
            known, value = m, here
    bound = LOG_KEPT + min(capital(law, first, low), capital(law, second, offset - high))
    cells = floats2(HALVINGS + 2, 4)  # ends, and the capitals that bound the two
    cells[0, 0], cells[0, 1] = low, high
    cells[0, 2] = capital(law, second, offset - low)
    cells[0, 3] = capital(law, first, high)
    size = 1
    narrow = (high - low) * 0.5**HALVINGS
    while size > 0:
        size -= 1
        left, right, below, above = (
            cells[size, 0],
            cells[size, 1],
            cells[size, 2],
            cells[size, 3],
        )
        m = 0.5 * (left + right)
        whole = right - left <= narrow or size > HALVINGS or not left < m < right  # rounding
        if whole or below + above >= best - TIGHT:
            bound = min(bound, below + above)
            if counted(law, bound) < enough:
                break
            continue
        up, down = capital(law, first, m), capital(law, second, offset - m)
        best = min(best, up + down)
        cells[size, 1], cells[size, 3] = m, up
        size += 1
        cells[size, 0], cells[size, 1], cells[size, 2], cells[size, 3] = m, right, down, above
        size += 1
    return counted(law, bound)


@late
def beats(
    model: Model, belief: Belief, i: int, j: int, c: int, offset: float, enough: float
) -> float:
    """E of "arm i beats arm j by more than ``offset`` in c", see `evidence_apart`."""
    first, second = floats(PLACES), floats(PLACES)
    describe(model, belief, i, c, 1.0, first)
    describe(model, belief, j, c, -1.0, second)
    return evidence_apart(law_of(model, c), first, second, offset, enough)


@late
def least_lead(
    model: Model, belief: Belief, i: int, j: int, c: int, spread: float, L: float
) -> float:
    """By how much i is proven to beat j in c at the level ``L``; -inf if by nothing."""
    first, second, law = floats(PLACES), floats(PLACES), law_of(model, c)
    describe(model, belief, i, c, 1.0, first)
    describe(model, belief, j, c, -1.0, second)
    high = first[MEAN] + second[MEAN]
    step = spread
    low = high - step
    while evidence_apart(law, first, second, low, L) < L:
        high = low
        step *= 2.0
        low -= step
        if not step < 1e9 * spread:
            return -np.inf
    for _ in range(BISECTIONS):
        if high - low <= 1e-4 * step:
            break
        middle = 0.5 * (low + high)
        if evidence_apart(law, first, second, middle, L) < L:
            high = middle
        else:
            low = middle
    return low
