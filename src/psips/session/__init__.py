"""Ask and tell: a session, the engine that runs it, its state for people to read."""

from psips.session.session import Session, read_rules

__all__ = ["Session", "read_rules"]
