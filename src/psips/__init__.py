"""psips: which options are Pareto-optimal, from noisy measurements, with a stated confidence."""

__version__ = "0.1.0"
