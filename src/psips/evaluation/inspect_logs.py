"""Logs of Inspect: ``.eval``, which are zip files, and ``.json``.

Only the summaries of the samples are unpacked, a few hundred bytes each, and not the
transcripts; a log may have gigabytes of them. What a file says of its sizes is not believed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from psips.errors import InputError
from psips.evaluation.log import FILE, MODEL, TASK, Log, flat, score_of, settings
from psips.input.files import read_bytes, shown
from psips.input.strict_json import read_json

HEADER, START = "header.json", "_journal/start.json"
SUMMARIES, JOURNAL, SAMPLES = "summaries.json", "_journal/summaries/", "samples/"
ZSTANDARD = 93  # how recent versions pack
MOST_DIRECTORY = 50_000_000  # bytes of the list of parts
MOST_OF_A_PART = 100_000_000  # bytes, unpacked
MOST_OF_ALL = 1_000_000_000
WINDOW = 1 << 27  # bytes that unpacking may look back
END, END_SIZE, COMMENT = b"PK\x05\x06", 22, 1 << 16
SPENT = ("tokens", "seconds", "cost")
GRADER = "grader"
DAMAGE = (  # what a zip file with wrong bytes raises
    BadZipFile,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
    zlib.error,
)


def is_eval(path: Path) -> bool:
    """Whether a zip file is a log."""
    try:
        with path.open("rb") as file:
            _weigh_directory(path, file)
            with ZipFile(file) as archive:
                names = set(archive.namelist())
    except (OSError, BadZipFile, InputError, ValueError, NotImplementedError):
        return path.suffix == ".eval"  # and reading it says what is wrong
    return bool(names & {HEADER, START})


def read_eval(path: Path) -> Log:
    """Read an ``.eval`` file."""
    name = shown(path)
    try:
        with path.open("rb") as file:
            _weigh_directory(path, file)
            with ZipFile(file) as archive:
                return _from_archive(path, _Parts(name, file, archive))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read the log {name}: {error.strerror or error}") from None
    except DAMAGE:
        raise InputError(
            f"the log {name} cannot be unpacked: it is damaged, or not complete"
        ) from None


def read_inspect_json(path: Path) -> Log:
    """Read a ``.json`` log."""
    name = shown(path)
    data = _json(name, read_bytes("the log", path))
    if not (isinstance(data, dict) and isinstance(data.get("eval"), dict)):
        raise InputError(
            f"{name} is not a log of Inspect: it has no entry 'eval'; logs are .eval or .json "
            "files of Inspect, or samples_*.jsonl of lm-evaluation-harness"
        )
    samples = data.get("samples")
    if not isinstance(samples, list):
        raise InputError(f"the log {name} has no samples: run the evaluation with them")
    return _log(path, data, samples)


def looks_like_inspect(head: bytes) -> bool:
    """Whether the first bytes of a JSON file are those of a log."""
    return b'"eval"' in head and b'"version"' in head


class _Parts:
    """The parts of a log, unpacked one by one and up to a limit."""

    def __init__(self, name: str, file: IO[bytes], archive: ZipFile) -> None:
        self.name, self._file, self._archive = name, file, archive
        self.infos = {info.filename: info for info in archive.infolist()}
        self._left = MOST_OF_ALL

    def read(self, part: str) -> Any:
        """Return a part as JSON."""
        info = self.infos[part]
        most = min(MOST_OF_A_PART, self._left)
        data = self._packed(info, most) if info.compress_type == ZSTANDARD else None
        if data is None:
            if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise InputError(
                    f"the log {self.name} is packed in a way that is not known (method "
                    f"{info.compress_type}): convert it with 'inspect log convert'"
                )
            with self._archive.open(info) as opened:
                data = opened.read(most + 1)
        if len(data) > most:
            raise InputError(
                f"the log {self.name} is too large: {part[:80]} has more than {most:,} bytes "
                f"unpacked, which is the limit"
            )
        self._left -= len(data)
        return _json(f"{self.name}, {part[:80]}", data)

    def _packed(self, info: ZipInfo, most: int) -> bytes:
        """Unpack what Python's own module does not know."""
        try:
            import zstandard
        except ImportError:
            raise InputError(
                f"the log {self.name} is packed with Zstandard, and to read it zstandard is "
                f"needed: pip install 'psips[logs]'"
            ) from None
        self._file.seek(info.header_offset)
        start = self._file.read(30)
        if len(start) < 30 or start[:4] != b"PK\x03\x04":
            raise BadZipFile
        name, extra = struct.unpack("<HH", start[26:30])
        self._file.seek(info.header_offset + 30 + name + extra)
        packed = self._file.read(min(info.compress_size, MOST_OF_A_PART))
        try:
            with zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(packed) as on:
                data = on.read(most + 1)
        except zstandard.ZstdError:
            raise BadZipFile from None
        if len(data) < min(info.file_size, most):
            raise BadZipFile
        return bytes(data)


def _weigh_directory(path: Path, file: IO[bytes]) -> None:
    """Refuse a list of parts that is too large, before it is read."""
    size = file.seek(0, 2)
    file.seek(max(0, size - END_SIZE - COMMENT))
    tail = file.read()
    place = tail.rfind(END)
    if place >= 0 and len(tail) >= place + END_SIZE:
        listed = struct.unpack("<I", tail[place + 12 : place + 16])[0]
        if MOST_DIRECTORY < listed < 0xFFFFFFFF or (
            listed == 0xFFFFFFFF and size > 40 * MOST_DIRECTORY
        ):
            raise InputError(
                f"the log {shown(path)} has too many parts: the list of them has more than "
                f"{MOST_DIRECTORY:,} bytes, which is the limit"
            )
    file.seek(0)


def _from_archive(path: Path, parts: _Parts) -> Log:
    there = parts.infos
    if HEADER in there:
        header = parts.read(HEADER)
    elif START in there:  # the evaluation has not ended
        header = {**_mapping(parts.read(START)), "status": "started"}
    else:
        raise InputError(f"{shown(path)} is not a log of Inspect: it has no {HEADER}")
    journal = sorted(
        (n for n in there if n.startswith(JOURNAL) and n.endswith(".json")),
        key=lambda n: (len(n), n),
    )
    samples: Iterable[Any]
    if SUMMARIES in there:
        samples = _list(parts.read(SUMMARIES))
    elif journal:
        samples = [one for part in journal for one in _list(parts.read(part))]
    else:  # of an old version
        each = [n for n in there if n.startswith(SAMPLES) and n.endswith(".json")]
        samples = (parts.read(part) for part in each)
    return _log(path, _mapping(header), samples)


def _log(path: Path, header: Mapping[str, Any], samples: Iterable[Any]) -> Log:
    about = _mapping(header.get("eval"))
    model, task = str(about.get("model") or ""), str(about.get("task") or "")
    if not model or not task:
        raise InputError(f"{shown(path)} is not a log of Inspect: it names no model and task")
    names = {
        MODEL: model,
        TASK: task,
        "solver": str(about.get("solver") or ""),
        **settings("", about.get("model_generate_config")),
        **settings("", about.get("task_args")),
        **settings("", about.get("solver_args")),
        FILE: path.stem,
    }
    found = Log({key: text for key, text in names.items() if text})
    status = str(header.get("status") or "")
    found.state = "" if status == "success" else status
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for sample in samples:
        one = _mapping(sample)
        newest[str(one.get("id")), str(one.get("epoch"))] = one  # a retry replaces a failure
    for (item, _), one in newest.items():
        if one.get("error"):
            found.failed += 1
            continue
        if one.get("completed") is False or not one.get("scores"):
            continue
        found.samples.append((item, _values(found, one)))
        found.marks.setdefault(item, repr((one.get("input"), one.get("target")))[:5000])
    found.extra = {"tokens", "seconds"}
    if any("cost" not in values for _, values in found.samples):
        for _, values in found.samples:
            values.pop("cost", None)
    _ways(found, about)
    return found


def _values(found: Log, sample: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores of a sample, and what it took."""
    values: dict[str, float] = {}
    for scorer, score in _mapping(sample.get("scores")).items():
        for metric, value in flat(scorer, _mapping(score).get("value")).items():
            if value is None:
                found.left_out[metric] = "is no number"
            else:
                values[metric] = value
    usage = [_mapping(one) for one in _mapping(sample.get("model_usage")).values()]
    grader = _mapping(_mapping(sample.get("role_usage")).get(GRADER))
    spent = {
        "tokens": _total(usage, "total_tokens", grader),
        "cost": _total(usage, "total_cost", grader),
        "seconds": score_of(sample.get("working_time") or sample.get("total_time")),
    }
    for metric, value in spent.items():
        if value is not None and value == value:
            values.setdefault(metric, value)
    return values


def _total(
    usage: list[Mapping[str, Any]], what: str, grader: Mapping[str, Any]
) -> float | None:
    """Add up what all models took, less what a grader did."""
    known = [score_of(one.get(what)) for one in usage if one.get(what) is not None]
    if not known or len(known) < len(usage):
        return None
    return sum(one or 0.0 for one in known) - (score_of(grader.get(what) or 0.0) or 0.0)


def _ways(found: Log, about: Mapping[str, Any]) -> None:
    """Note of which scores more is better, as far as the log says."""
    for scorer in _list(about.get("scorers")):
        one = _mapping(scorer)
        metrics = _list(one.get("metrics")) if isinstance(one.get("metrics"), list) else []
        called = {str(_mapping(m).get("name")).rpartition("/")[2] for m in metrics}
        if "accuracy" in called:
            found.ways[str(one.get("name"))] = "max"
    known = {metric for _, values in found.samples for metric in values}
    found.ways.update({metric: "min" for metric in SPENT if metric in known})


def _json(name: str, data: bytes) -> Any:
    try:
        return read_json(data, constants=True)
    except InputError as error:
        raise InputError(f"the log {name} cannot be read: {error}") from None


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []
