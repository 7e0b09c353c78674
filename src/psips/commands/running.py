"""One run of a command: how long it took, its processor time, its peak memory, what it said.

On Linux a run is started in two steps. A small shell starts the shell of the command and ends,
so that the command's shell becomes a child of this process (`prctl`, child subreaper). That
shell says that it is ready and waits for a line; then the clock is started and the line
written. So neither the start of a shell nor a fork of this process, which is large, is part of
what is measured: a process that forks hands its own size on as the peak memory of its child.

Elsewhere the command is started at once; its shell then counts.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from psips.errors import InputError, quote

LAUNCHER = "/bin/sh"
START = 'exec 3<&0 4>&1; "$@" >/dev/null & echo $! >&4'  # ends at once
READY = "echo ready >&4; read -r _go <&3 || exit 125; exec 3<&- 4>&-"
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl
MOST_READ = 64 * 1024 * 1024  # bytes of output that are searched for numbers
SHOWN = 4096  # bytes of standard error that are looked at for its last line
NONE = "none"  # no shell
TICK = 1e-6  # seconds: the least processor time that is told from none


@dataclass(frozen=True)
class Ran:
    """What one run of a command has shown."""

    time: float  # seconds
    cpu: float  # seconds, of all its processes
    memory: float  # bytes, of its largest process
    code: int  # exit code; -9 if signal 9 has ended it
    late: bool = False  # whether it was ended by the timeout
    output: str = ""
    last_line: str = ""  # of standard error

    @property
    def failure(self) -> str:
        """How it ended, in words; empty if its exit code is 0."""
        if self.late:
            return "was ended by the timeout"
        said = f": {self.last_line}" if self.last_line else ""
        if self.code < 0:
            name = signal.strsignal(-self.code) or "unknown"
            return f"was ended by signal {-self.code} ({name}){said}"
        return f"ended with exit code {self.code}{said}" if self.code else ""


@dataclass
class Runner:
    """Starts commands, one at a time, and measures them.

    Parameters
    ----------
    shell : str
        The shell that reads commands, with its options, as "bash -o pipefail"; or "none":
        they are split into words and started.
    timeout : float, optional
        Seconds after which a run is ended.
    input : Path, optional
        What a command reads on standard input; nothing if left out.
    cores : set of int, optional
        Processor cores that commands are kept on, while this process keeps off them.
    keep_output : bool
        Whether what a command prints is read.
    """

    shell: str = "sh"
    timeout: float | None = None
    input: Path | None = None
    cores: frozenset[int] | None = None
    keep_output: bool = False
    group: int = 0  # processes of the run that is under way, 0 if there is none
    left_running: int = 0  # runs that left processes behind, which were ended
    _files: list[Path] = field(default_factory=list)  # of standard output and error

    @contextmanager
    def at_work(self) -> Iterator[Runner]:
        """Adopt what commands leave behind, while they are run."""
        if not hasattr(os, "wait4"):
            raise InputError(
                "this system does not say what a process has used, so commands cannot be "
                "measured here: use Linux or macOS"
            )
        every = _cores()
        adopted = _adopt(True)
        try:
            if self.cores is not None:
                rest = every - self.cores
                os.sched_setaffinity(0, rest or every)
            self._own = _cores()
            self._adopts = adopted and os.path.exists(LAUNCHER)
            with tempfile.TemporaryDirectory(prefix="psips-run-") as folder:
                self._files = [Path(folder) / "output", Path(folder) / "errors"]
                yield self
        finally:
            self.end()
            if every:
                os.sched_setaffinity(0, every)
            if adopted:
                _adopt(False)

    def words(self, command: str) -> list[str]:
        """Return what is started for a command."""
        if self.shell != NONE:
            return [*split(self.shell), "-c", command]
        return split(command)

    def run(self, command: str, read: bool | None = None) -> Ran:
        """Run a command and measure it."""
        read = self.keep_output if read is None else read
        output, errors = self._files
        for file in self._files:
            file.write_bytes(b"")
        start = self._start_waiting if self._adopts else self._start_at_once
        nothing = Path(os.devnull)
        files = (self.input or nothing, output if read else nothing, errors)
        pid, go, before = start(command, *files)
        timed_out = threading.Event()
        timer = None
        try:
            if self.timeout is not None:
                timer = threading.Timer(self.timeout, self._too_late, [timed_out])
                timer.daemon = True
                timer.start()
            begin = go()
            _, ended, used = os.wait4(pid, 0)
            seconds = perf_counter() - begin
        except BaseException:
            self.end()
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        more = self._rest(timed_out.is_set())
        unit = 1 if sys.platform == "darwin" else 1024
        return Ran(
            max(seconds, TICK),
            max(used.ru_utime + used.ru_stime - before + more, TICK),
            float(max(used.ru_maxrss * unit, 1)),
            os.waitstatus_to_exitcode(ended),
            timed_out.is_set(),
            _text(output, 0, MOST_READ) if read else "",
            self._without_line_number(_last_line(errors)),
        )

    def _without_line_number(self, said: str) -> str:
        """Take away the line that a shell gives: the command begins in its second."""
        if said.startswith("psips: "):  # what starts the shell is called so
            return re.sub(r"^psips: (line )?[0-9]+: ", "", said)
        shell = re.escape(self.shell.split()[0])
        return re.sub(rf"^({shell}: )(-c: )?(line )?[0-9]+: ", r"\1", said)

    def end(self) -> None:
        """End the run that is under way, with all its processes."""
        group, self.group = self.group, 0
        if group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def _too_late(self, timed_out: threading.Event) -> None:
        timed_out.set()
        group = self.group
        if group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def _rest(self, late: bool) -> float:
        """End what a run has left behind in its group; return its processor time."""
        group, self.group = self.group, 0
        if not group:
            return 0.0
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return 0.0
        self.left_running += not late
        seconds = 0.0
        with suppress(ChildProcessError):
            while True:
                pid, _, used = os.wait4(-group, 0)
                if not pid:
                    break
                seconds += used.ru_utime + used.ru_stime
        return seconds

    def _popen(self, words: Sequence[str], **where: Any) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own, on the cores that it is to be kept on.

        Not in a session of its own: schedulers that share a busy processor by session let a new
        one wait, many times as long as a short command takes.
        """
        if self.cores is not None:
            os.sched_setaffinity(0, self.cores)
        try:
            started = subprocess.Popen(list(words), process_group=0, **where)
        except OSError as error:
            raise InputError(f"cannot start {quote(str(words[0]))}: {error.strerror}") from None
        finally:
            if self.cores is not None:
                os.sched_setaffinity(0, self._own)
        self.group = started.pid
        return started

    def _start_at_once(self, command: str, source: Path, output: Path, errors: Path) -> Any:
        begin = perf_counter()
        with (
            source.open("rb") as stdin,
            output.open("wb") as stdout,
            errors.open("wb") as stderr,
        ):
            words = self.words(command)
            started = self._popen(words, stdin=stdin, stdout=stdout, stderr=stderr)
        started.returncode = 0  # it is waited for elsewhere
        return started.pid, lambda: begin, 0.0

    def _start_waiting(self, command: str, source: Path, output: Path, errors: Path) -> Any:
        """Have a shell start that waits for its line; return it, and what writes the line."""
        names = [shlex.quote(str(file)) for file in (source, output, errors)]
        ready = f"exec <{names[0]} >{names[1]} 2>{names[2]}; {READY}\n"
        if self.shell == NONE:
            words = [LAUNCHER, "-c", ready + 'exec "$@"', "psips", *split(command)]
        else:
            shell = split(self.shell)
            words = [*shell, "-c", ready + command, shell[0]]
        with errors.open("wb") as stderr:
            launcher = self._popen(
                [LAUNCHER, "-c", START, "psips", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        line, answers = launcher.stdin, launcher.stdout
        assert line is not None
        assert answers is not None
        said = b""
        while said.count(b"\n") < 2:
            more = os.read(answers.fileno(), 100)
            if not more:
                break
            said += more
        launcher.wait()
        lines = said.decode().split()
        numbers = [line for line in lines if line != "ready"]
        if len(lines) < 2 or not numbers:
            self.end()
            for number in numbers:
                with suppress(ChildProcessError):
                    os.waitpid(int(number), 0)
            why = self._without_line_number(_last_line(errors)) or "it ended at once"
            raise InputError(
                f"cannot start the shell {quote(self.shell)}: {why}; name one that reads sh, "
                f"or --shell none"
            )
        pid = int(numbers[0])

        def go() -> float:
            with line, answers:
                begin = perf_counter()
                os.write(line.fileno(), b"\n")
            return begin

        return pid, go, _used_so_far(pid)


def split(command: str) -> list[str]:
    """Return the words of a command that no shell reads.

    Examples
    --------
    >>> split("grep -c 'a b' file")
    ['grep', '-c', 'a b', 'file']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(
            f"the command {quote(command)} cannot be split into words ({error}): close its "
            f"quotes, or leave out --shell none"
        ) from None
    if not words:
        raise InputError("a command is empty: write what is to be run")
    return words


def read_cores(given: str) -> frozenset[int]:
    """Read processor cores such as "3" or "0,2"; refuse those that are not there.

    Examples
    --------
    >>> sorted(read_cores(str(min(os.sched_getaffinity(0)))))[0] >= 0
    True
    """
    every = _cores()
    if not every:
        raise InputError(
            "this system does not let a process be kept on a core: leave out --pin"
        )
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(f"--pin must be cores such as 3 or 0,2, got {quote(given)}")
    found = frozenset(int(part) for part in parts)
    if not found <= every:
        there = ",".join(map(str, sorted(every)))
        raise InputError(f"--pin {given}: the cores that may be used are {there}")
    return found


def _cores() -> set[int]:
    """Return the cores that this process may use; empty where no one can say."""
    return set(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else set()


def _adopt(on: bool) -> bool:
    """Become, or no longer be, the parent of what children leave behind; whether it worked."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return int(ctypes.CDLL(None).prctl(SUBREAPER, int(on), 0, 0, 0)) == 0
    except (OSError, AttributeError):
        return False


def _used_so_far(pid: int) -> float:
    """Return the processor time of a process that waits to be let go, in seconds."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def _text(file: Path, start: int, most: int) -> str:
    with file.open("rb") as opened:
        opened.seek(start)
        return opened.read(most).decode("utf-8", "replace")


def _last_line(file: Path) -> str:
    """Return the last line of a file that is not empty."""
    lines = _text(file, max(0, file.stat().st_size - SHOWN), SHOWN).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
