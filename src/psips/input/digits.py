"""Numbers for people to read, in as many digits as their errors are worth."""

from __future__ import annotations

import math

MAX_DIGITS = (
    8  # digits after the point; of smaller errors the number is written with an exponent
)
WHOLE = 1e15  # whole numbers without error are written out below
SMALL, LARGE = 1e-4, 1e7  # numbers outside of these are written with an exponent


def rounded(value: float, error: float) -> str:
    """Write a number to the second digit of its error, without a sign where it is 0.

    Examples
    --------
    >>> rounded(10.4231, 0.0213), rounded(-0.0004, 0.02), rounded(123456.0, 2300.0)
    ('10.423', '0.000', '123456')
    >>> rounded(0.00123, 0.0001), rounded(-0.0, 0.0), rounded(2.5e-9, 1e-10)
    ('0.00123', '0', '2.50e-09')
    >>> rounded(104857600.0, 1200.0), rounded(1200.0, 1e9)
    ('1.048576e+08', '0')
    """
    if not math.isfinite(value):
        return str(value)
    if not (math.isfinite(error) and error > 0.0):
        return _signed(f"{value:.6g}")
    if max(abs(value), error) >= LARGE or error < 10.0 ** (1 - MAX_DIGITS):
        return _at_length(value, error)
    return _signed(f"{value:.{_places(error)}f}")


def estimate(mean: float, se: float, none: str = "-") -> str:
    """Write a mean with its standard error; ``none`` if there is no mean.

    Examples
    --------
    >>> estimate(10.4231, 0.0213), estimate(123456.0, 2300.0), estimate(float("nan"), 1.0)
    ('10.423 ± 0.021', '123456 ± 2300', '-')
    >>> estimate(-0.0001, 0.012), estimate(3.0, float("nan")), estimate(2.5, 0.0)
    ('0.000 ± 0.012', '3 ± ?', '2.5')
    >>> estimate(104861234.0, 1200.0), estimate(17179869184.0, 0.0)
    ('1.048612e+08 ± 1.2e+03', '17179869184')
    """
    if math.isnan(mean):
        return none
    if math.isnan(se):  # the noise is not known yet
        return f"{_signed(f'{mean:.4g}')} ± ?"
    if se == 0.0:  # exact
        whole = abs(mean) < WHOLE and mean == round(mean)
        return _signed(f"{mean:.0f}" if whole else f"{mean:.10g}")
    if max(abs(mean), se) >= LARGE or 0.0 < se < 10.0 ** (1 - MAX_DIGITS):
        return f"{rounded(mean, se)} ± {se:.2g}"
    return f"{rounded(mean, se)} ± {rounded(se, se)}"


def in_ratios(mean: float, se: float, none: str = "-") -> str:
    """Write a geometric mean with its standard error, from those of the logarithm.

    Examples
    --------
    >>> in_ratios(math.log(12.34), 0.0153), in_ratios(math.log(0.02), 0.213)
    ('12.34 ±1.5%', '0.0200 ±24%')
    """
    if math.isnan(mean):
        return none
    middle = math.exp(min(mean, 700.0))
    if not se > 0.0:
        return estimate(middle, se, none)
    share = 100.0 * math.expm1(min(se, 700.0))
    return f"{rounded(middle, middle * se)} ±{rounded(share, share)}%"


def interval(value: float, low: float, high: float) -> str:
    """Write a number with its interval.

    Examples
    --------
    >>> interval(1.0312, 0.8412, 1.2345), interval(0.0012, 0.00095, 0.0016)
    ('1.03 (0.84 to 1.23)', '0.00120 (0.00095 to 0.00160)')
    """
    error = min(value - low, high - value)
    error = error if error > 0.0 else (high - low) / 4.0
    return f"{rounded(value, error)} ({rounded(low, error)} to {rounded(high, error)})"


def chance(probability: float) -> str:
    """Write a probability; nothing if it is not known.

    Examples
    --------
    >>> chance(0.93871), chance(1.0), chance(2e-5), chance(0.99996), chance(float("nan"))
    ('0.939', '1', '2e-05', '0.99996', '')
    """
    if not math.isfinite(probability):
        return ""
    if probability < 0.1:
        return f"{probability:.2g}"
    if probability < 0.9995:
        return f"{probability:.3f}"
    rest = 1.0 - probability
    return "1" if rest < 1e-9 else f"{probability:.{1 - math.floor(math.log10(rest)) - 1}f}"


def percent(probability: float) -> str:
    """Write a probability as a percentage that is never rounded to 0 or 100.

    Examples
    --------
    >>> percent(0.93871), percent(0.0412), percent(0.9957), percent(0.99999), percent(1e-6)
    ('94%', '4.1%', '99.6%', '>99.9%', '<0.1%')
    >>> percent(float("nan"))
    ''
    """
    if not math.isfinite(probability):
        return ""
    if probability < 0.0005:
        return "<0.1%"
    if probability >= 0.9995:
        return ">99.9%"
    places = 1 if probability < 0.0995 or probability >= 0.985 else 0
    return f"{100.0 * probability:.{places}f}%"


def fixed(value: float, places: int) -> str:
    """Write a number with so many digits after the point, without a sign where it is 0.

    Examples
    --------
    >>> fixed(-0.001, 2), fixed(-0.4, 2)
    ('0.00', '-0.40')
    """
    return _signed(f"{value:.{places}f}")


def _places(error: float) -> int:
    """Digits after the point of which the last is the second of the error."""
    return min(MAX_DIGITS, max(0, 1 - math.floor(math.log10(error))))


def _at_length(value: float, error: float) -> str:
    """Write a number that is large, or whose error is small, to the error's second digit."""
    if value == 0.0 or abs(value) < error / 20.0:
        return "0"
    if SMALL <= abs(value) < LARGE:  # it is the error that is small, or large
        return _signed(f"{value:.{min(15, max(0, 1 - math.floor(math.log10(error))))}f}")
    digits = 1 + math.floor(math.log10(abs(value))) - math.floor(math.log10(error))
    return f"{value:.{min(15, max(0, digits))}e}"


def _signed(text: str) -> str:
    """Take the sign away from a number that is shown as 0."""
    return text.removeprefix("-") if not text.strip("-0.") else text
