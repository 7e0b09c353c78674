"""Ask and tell: a session, the engine that runs it, its state for people to read."""

from psips.session.arguments import read_rules
from psips.session.session import Session

__all__ = ["Session", "read_rules"]
