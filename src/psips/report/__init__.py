"""One file for a committee: a study as HTML."""

from psips.report.document import report

__all__ = ["report"]
