"""What is to be decided: problems, what is known beforehand, instances with the truth."""

from psips.problem.problem import Problem

__all__ = ["Problem"]
