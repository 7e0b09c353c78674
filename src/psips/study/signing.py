"""Signatures over the head of a log, by SSH keys: who saw which results, and when.

A signature is a file of its own: a statement in plain words and, below it, what
``ssh-keygen -Y sign`` made of it. It is worth as much as the place where it is kept.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from psips.errors import InputError, listing, quote
from psips.store import Event
from psips.study.inputs import now, read_name, stamp

NAMESPACE = "psips"
BEGIN = "-----BEGIN SSH SIGNATURE-----"
LONGEST = 200  # characters of a meaning
KEYGEN_TIMEOUT = 60  # seconds that ssh-keygen may take
MEANING = "seen"  # what a signature says of the events, unless its maker says more
_STATEMENT = re.compile(
    r"study: (?P<study>[^\n]+)\nevents: (?P<events>[0-9]{1,15})\nhead: (?P<head>[0-9a-f]{64})\n"
    r"(?:signed: (?P<at>[^\n]{1,40})\nmeaning: (?P<meaning>[^\n]{1,200})\n)?"
)


_SIGNER = re.compile(  # names, perhaps options, and a public key
    r'(?P<names>"[^"]*"|[^\s#"]\S*)\s.*?\b(?:ssh|ecdsa|sk)-\S+\s+(?P<key>[A-Za-z0-9+/=]{20,})'
)


class Statement(NamedTuple):
    """What is signed: which study, how many events, the hash of the last; when, what it means.

    Signatures of older versions have neither a time nor a meaning.
    """

    study: str
    events: int
    head: str
    at: str | None = None
    meaning: str | None = None

    def __str__(self) -> str:
        text = f"study: {self.study}\nevents: {self.events}\nhead: {self.head}\n"
        return (
            text if self.at is None else f"{text}signed: {self.at}\nmeaning: {self.meaning}\n"
        )


def sign(
    study: str,
    events: Sequence[Event],
    key: Path,
    meaning: str = MEANING,
    at: datetime | None = None,
) -> str:
    """Return the signature of the head of a log, as the text of a file.

    Parameters
    ----------
    study : str
    events : sequence of Event
        The whole log, checked.
    key : path of an SSH key
        Private, or public if an agent holds the private one.
    meaning : str
        What the signer says of these events, as in "reviewed" or "approved".
    at : datetime, optional
        The time.
    """
    if not _is_file(key):
        raise InputError(f"there is no key {str(key)!r}: make one with ssh-keygen")
    plain = isinstance(meaning, str) and meaning == meaning.strip() and meaning.isprintable()
    if not plain or not 1 <= len(meaning) <= LONGEST:
        raise InputError(
            f"the meaning of a signature has 1 to {LONGEST} printable characters, without "
            f"spaces around it, got {quote(meaning)}"
        )
    last = events[-1]
    statement = Statement(read_name(study), last.seq, last.hash, stamp(at or now()), meaning)
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
    _check_names(signers)
    statement = Statement(
        found["study"], int(found["events"]), found["head"], found["at"], found["meaning"]
    )
    with tempfile.TemporaryDirectory() as folder:
        sealed = Path(folder) / "statement.sig"
        sealed.write_text(f"{begin}{rest}", encoding="utf-8")
        said = _run(["-Y", "find-principals", "-f", str(signers), "-s", str(sealed)], "")
        who = _one_name(said)
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
    when = "" if statement.at is None else f" at {statement.at} ({statement.meaning})"
    return f"signed by {who}{when}: the first {statement.events} events"


def _check_names(signers: Path) -> None:
    """Refuse signers of whom two have one key: ssh-keygen names the first it finds."""
    names: dict[str, set[str]] = {}
    try:
        text = signers.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the allowed signers {signers}: {error}") from None
    for line in text.splitlines():
        found = _SIGNER.match(line.strip())
        if found:
            listed = found["names"].strip('"').split(",")
            names.setdefault(found["key"], set()).update(name.strip() for name in listed)
    for every in names.values():
        if len(every) > 1:
            raise InputError(
                f"{signers.name} lists one key for {listing(sorted(every))}, so that no one "
                "can say who signed: give each key one name"
            )


def _one_name(said: str) -> str:
    """Return whose key it is; a pattern is no one's name."""
    name = said.split("\n")[0].strip()
    if any(c in name for c in "*?!,"):
        raise InputError(
            f"the key is listed for {quote(name)}, so that no one can say who signed: give "
            "each key one name"
        )
    return name


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
            timeout=KEYGEN_TIMEOUT,
            check=False,
        )
    except FileNotFoundError:
        raise InputError(
            "signatures need the program ssh-keygen (OpenSSH 8.2 or later)"
        ) from None
    except subprocess.TimeoutExpired:
        raise InputError(f"ssh-keygen gave no answer within {KEYGEN_TIMEOUT} s") from None
    if done.returncode:
        reason = " ".join((done.stderr or done.stdout).split())[:200]
        raise InputError(f"the signature is not valid, or the key cannot be used: {reason}")
    return done.stdout
