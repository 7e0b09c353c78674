"""Live studies: a session with a name that lives in a database and loses nothing."""

from psips.session import Receipt
from psips.study.conduct import Conduct
from psips.study.ledger import Result, Ticket
from psips.study.requests import KeyUsedError
from psips.study.rows import ProblemsError, read_csv_rows
from psips.study.study import Study
from psips.study.verification import Verification, replay_log, verify_log

__all__ = [
    "Conduct",
    "KeyUsedError",
    "ProblemsError",
    "Receipt",
    "Result",
    "Study",
    "Ticket",
    "Verification",
    "read_csv_rows",
    "replay_log",
    "verify_log",
]
