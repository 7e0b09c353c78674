"""Settings for all tests: what hypothesis may spend, signals, tickets with plain names."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from psips.study.ledger import tag_of

settings.register_profile("psips", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("psips")


def pytest_configure() -> None:
    """Listen to Ctrl-C, which tests send: a shell has its background jobs ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


REAL_TAGS = tag_of


@pytest.fixture(scope="session", autouse=True)
def plain_tickets() -> Iterator[None]:
    """Tickets without their random tags, so that tests can name them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psips.study.ledger.tag_of", lambda *_: "")
        yield


@pytest.fixture
def tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tickets as they are."""
    monkeypatch.setattr("psips.study.ledger.tag_of", REAL_TAGS)
