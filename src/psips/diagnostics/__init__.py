"""Tests whether results satisfy the assumptions, and what to do if they do not."""

from psips.diagnostics.diagnosing import LEVEL, LOOKS, diagnose
from psips.diagnostics.findings import Diagnosis, Finding
from psips.diagnostics.residuals import pooled_covariance

__all__ = ["LEVEL", "LOOKS", "Diagnosis", "Finding", "diagnose", "pooled_covariance"]
