"""Signatures over the head of a log, by SSH keys: who saw which results, and when.

A signature is a file of its own: a statement in plain words and, below it, what
``ssh-keygen -Y sign`` made of it. It is worth as much as the place where it is kept.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from psips.errors import InputError
from psips.store import Event
from psips.study.inputs import read_name

NAMESPACE = "psips"
BEGIN = "-----BEGIN SSH SIGNATURE-----"
PATIENCE = 60  # seconds that ssh-keygen may take
_STATEMENT = re.compile(
    r"study: (?P<study>[^\n]+)\nevents: (?P<events>[0-9]{1,15})\nhead: (?P<head>[0-9a-f]{64})\n"
)


class Statement(NamedTuple):
    """What is signed: which study, how many events, and the hash of the last."""

    study: str
    events: int
    head: str

    def __str__(self) -> str:
        return f"study: {self.study}\nevents: {self.events}\nhead: {self.head}\n"


def sign(study: str, events: Sequence[Event], key: Path) -> str:
    """Return the signature of the head of a log, as the text of a file.

    Parameters
    ----------
    study : str
    events : sequence of Event
        The whole log, checked.
    key : path of an SSH key
        Private, or public if an agent holds the private one.
    """
    if not _is_file(key):
        raise InputError(f"there is no key {str(key)!r}: make one with ssh-keygen")
    statement = Statement(read_name(study), events[-1].seq, events[-1].hash)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "statement"
        file.write_text(str(statement), encoding="utf-8")
        _run(["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(file)], "")
        made = file.with_name("statement.sig").read_text(encoding="ascii")
    return f"{statement}{made}"


def check_signature(study: str, events: Sequence[Event], file: Path, signers: Path) -> str:
    """Check a signature against a log; return who signed which event.

    Parameters
    ----------
    study : str
    events : sequence of Event
        The whole log, checked.
    file : path of a signature
    signers : path of a file of allowed signers
        As ssh-keygen has it: a name and a public key in each line.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the signature {file}: {error}") from None
    head, begin, rest = text.partition(BEGIN)
    found = _STATEMENT.fullmatch(head)
    if not found or not begin:
        raise InputError(f"{file.name} is not a signature of psips")
    if not _is_file(signers):
        raise InputError(f"there is no file of allowed signers {str(signers)!r}")
    statement = Statement(found["study"], int(found["events"]), found["head"])
    with tempfile.TemporaryDirectory() as folder:
        sealed = Path(folder) / "statement.sig"
        sealed.write_text(f"{begin}{rest}", encoding="utf-8")
        said = _run(["-Y", "find-principals", "-f", str(signers), "-s", str(sealed)], "")
        who = said.split("\n")[0].strip()
        words = ["-Y", "verify", "-f", str(signers), "-I", who, "-n", NAMESPACE]
        _run([*words, "-s", str(sealed)], str(statement))
    if statement.study != study:
        raise InputError(f"{file.name} is a signature of another study, {statement.study!r}")
    if statement.events > len(events):
        raise InputError(
            f"{who} signed {statement.events} events, but the log has {len(events)}: its end "
            "was cut off"
        )
    if events[statement.events - 1].hash != statement.head:
        raise InputError(
            f"{who} signed another event {statement.events}: the log was rewritten since"
        )
    return f"signed by {who}: the first {statement.events} events"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _run(words: Sequence[str], given: str) -> str:
    try:
        done = subprocess.run(
            ["ssh-keygen", *words],
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise InputError(
            "signatures need the program ssh-keygen (OpenSSH 8.2 or later)"
        ) from None
    except subprocess.TimeoutExpired:
        raise InputError(f"ssh-keygen gave no answer within {PATIENCE} s") from None
    if done.returncode:
        reason = " ".join((done.stderr or done.stdout).split())[:200]
        raise InputError(f"the signature is not valid, or the key cannot be used: {reason}")
    return done.stdout
