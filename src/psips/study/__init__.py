"""Live studies: a session with a name that lives in a database and loses nothing."""

from psips.study.ledger import Result, Ticket
from psips.study.rows import ProblemsError, read_csv_rows
from psips.study.study import Study
from psips.study.telling import Receipt
from psips.study.verification import Verification, verify_log

__all__ = [
    "ProblemsError",
    "Receipt",
    "Result",
    "Study",
    "Ticket",
    "Verification",
    "read_csv_rows",
    "verify_log",
]
