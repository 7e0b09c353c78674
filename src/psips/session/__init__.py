"""Ask and tell: a session, the engine that runs it, its state for people to read."""

from psips.session.arguments import read_rules
from psips.session.session import Session
from psips.session.tickets import Receipt, Ticket

__all__ = ["Receipt", "Session", "Ticket", "read_rules"]
