"""Adapters whose packages must be there: PSIPS_ADAPTERS names them, and CI sets it.

Where a package is missing its tests are skipped, which must not happen unseen.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

PASSED: Counter[str] = Counter()
SKIPPED: Counter[str] = Counter()


def adapter(nodeid: str) -> str:
    return Path(nodeid.partition("::")[0]).stem.removeprefix("test_")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        PASSED[adapter(report.nodeid)] += 1
    if report.skipped:
        SKIPPED[adapter(report.nodeid)] += 1


def unseen() -> list[str]:
    """Adapters that were to be tested, and were not, or not wholly."""
    wanted = os.environ.get("PSIPS_ADAPTERS", "").split()
    return [name for name in wanted if not PASSED[name] or SKIPPED[name]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if unseen():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in unseen():
        terminalreporter.write_line(f"the tests of the adapter {name} were not run", red=True)
