"""Mutants of all stored examples: what is taken opens, verifies and has a status.

Exports are imported, stores restored, problem files registered. Whatever is refused is refused
in a sentence, and nothing is kept of it. PSIPS_MUTANTS makes the run longer (so many of each
example), PSIPS_MUTANTS_SEED another one.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import sqlite3
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from psips import InputError, Study
from psips.input.escaping import as_json
from psips.store import DamagedError, open_store
from psips.store.events import START, Event, canonical
from psips.study import transfer
from psips.study.plain import status_data

pytestmark = pytest.mark.usefixtures("tags")

EXAMPLES = Path(__file__).parent / "examples"
FORMATS = Path(__file__).parent.parent / "formats"
MUTANTS = int(os.environ.get("PSIPS_MUTANTS", 200))  # of each example
SEED = int(os.environ.get("PSIPS_MUTANTS_SEED", 5))
LONGEST = 500  # characters of a refusal
PATIENCE = 60.0  # seconds: rules of a mutant may have to be compiled first

EXPORTS = sorted(EXAMPLES.glob("schema-*[a-z].json"))
EXPORTS = [file for file in EXPORTS if "events" in json.loads(file.read_text())]
STORES = [EXAMPLES / "schema-1.db", FORMATS / "store-2.db"]
PROBLEMS = sorted(FORMATS.glob("*.toml"))

ODD: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, -1, 7, 10**30, -(2**63)),
    *(0.0, -0.0, 1.0, 2.5, -3.5, 1e12, 1e15, 1e300, -1e308, 1e-320, float("nan"), float("inf")),
    *(
        "",
        " ",
        "A",
        "B",
        "gain",
        "max",
        "min",
        "0",
        "1e9",
        "x" * 3000,
        "\0",
        "\x1b[2J",
        "é\u202e",
    ),
    *(
        "2036-01-01T00:00:00.000000Z",
        "1999-01-01T00:00:00.000000Z",
        "created",
        "clock",
        "closed",
    ),
    *([], {}, [[]], [None], [1, 2], ["A"], {"a": 1}, {"user": "x"}, [[1.0, 0.0], [0.0, 1.0]]),
]


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places of a tree of lists and objects."""
    found = [path] if path else []
    if isinstance(node, dict):
        for key, child in node.items():
            found += places(child, (*path, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            found += places(child, (*path, index))
    return found


def mutate(tree: Any, rng: random.Random) -> None:
    """Change one thing somewhere."""
    *way, last = rng.choice(places(tree))
    parent = tree
    for step in way:
        parent = parent[step]
    value = parent[last]
    kind = rng.randrange(8)
    if kind <= 2:
        parent[last] = copy.deepcopy(rng.choice(ODD))
    elif kind == 3 and isinstance(value, int | float) and not isinstance(value, bool):
        parent[last] = rng.choice(
            [str(value), value + 1, -value, value * 1e14, value * 1e-14, float(value), [value]]
        )
    elif kind == 3:
        parent[last] = [value] if rng.random() < 0.5 else str(value)
    elif kind == 4:
        del parent[last]
    elif kind == 5 and isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(value))
    elif kind == 5:
        parent[rng.choice(["x", "key", "schema", "at", str(last) + "s"])] = parent.pop(last)
    elif kind == 6 and isinstance(parent, list):
        rng.shuffle(parent)
    else:
        other = rng.choice(places(tree))
        found = tree
        for step in other:
            found = found[step]
        parent[last] = copy.deepcopy(found)


def rehash(data: Any, rng: random.Random) -> None:
    """Make the hashes fit again, as a forger would; the numbers too, mostly."""
    number = rng.random() < 0.8
    last = START
    for seq, entry in enumerate(data["events"], start=1):
        if number:
            entry["seq"] = seq
        entry["previous"] = last
        text = canonical(entry["payload"])
        event = Event(data["study"], entry["seq"], entry["at"], entry["kind"], text, last, "")
        entry["hash"] = last = event.digest()


def mutant(data: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"study": data["study"], "events": copy.deepcopy(data["events"])}
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        event = rng.choice(made["events"]) if made["events"] else None
        payload = event.get("payload") if isinstance(event, dict) else None
        tree = payload if isinstance(payload, dict) and payload and rng.random() < 0.8 else made
        if places(tree):
            mutate(tree, rng)
        if not isinstance(made.get("events"), list):
            return made
    if rng.random() < 0.9:
        with suppress(KeyError, TypeError, ValueError, AttributeError):  # it stays as it is
            rehash(made, rng)
    return made


def check_study(name: str, store: Any) -> None:
    """What was taken in opens, verifies and has a status."""
    study = Study.open(name, store)
    problems = study.verify().problems  # asks of other numbers would be other asks
    assert [p for p in problems if "but replayed with psips" not in p] == []
    as_json(status_data(study.state, study.status(), study.open_tickets()))


def judge(act: Callable[[], None]) -> bool:
    """Whether a mutant is taken; an error says what is wrong with how it is refused."""
    start = time.perf_counter()
    said = ""
    try:
        act()
    except InputError as error:
        said = str(error)
        assert said
    assert time.perf_counter() - start < PATIENCE
    assert len(said) < LONGEST, said
    assert "\n" not in said, said
    return not said


def run(name: str, act: Callable[[random.Random], bool]) -> None:
    taken = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(MUTANTS):
            try:
                taken += act(random.Random(f"{SEED} {name} {number}"))
            except BaseException as error:
                error.add_note(f"mutant {number} of {name}, seed {SEED}")
                raise
    print(f"{name}: {MUTANTS} mutants, {taken} taken, {MUTANTS - taken} refused")


@pytest.mark.parametrize("file", EXPORTS, ids=lambda file: file.stem)
def test_exports(file: Path, tmp_path: Path) -> None:
    kept = json.loads(file.read_text())

    def act(rng: random.Random) -> bool:
        text = json.dumps(mutant(kept, rng))
        if rng.random() < 0.1:  # a byte, rather
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice('{}[]",:0 e') + text[place + rng.randrange(3) :]
        copied = tmp_path / "mutant.json"
        copied.write_text(text)
        with open_store("sqlite://", create=True) as store:
            if not judge(lambda: transfer.import_export(store, copied) and None):
                assert store.studies() == []
                return False
            check_study(store.studies()[0], store)
            return True

    run(file.name, act)


@pytest.mark.parametrize("file", STORES, ids=lambda file: file.stem)
def test_stores(file: Path, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{shutil.copy(file, tmp_path / 'kept.db')}") as opened:
        names = opened.studies()
        logs = {
            name: {"study": name, "events": [e.to_dict() for e in opened.read(name)]}
            for name in names
        }

    def act(rng: random.Random) -> bool:
        """Change rows in the database itself, whatever their hashes; or bytes of the file."""
        copied = Path(shutil.copy(tmp_path / "kept.db", tmp_path / "mutant.db"))
        name = rng.choice(names)
        if rng.random() < 0.15:
            data = bytearray(copied.read_bytes())
            for _ in range(rng.randrange(1, 20)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            copied.write_bytes(data)
        else:
            rewrite(copied, name, mutant(logs[name], rng))

        def use() -> None:
            with open_store(f"sqlite:///{copied}", damaged=True) as opened:
                opened.read(name)
            with open_store("sqlite://", create=True) as store:
                for made in transfer.restore(store, copied):
                    check_study(made, store)

        return judge(use)

    run(file.name, act)


def rewrite(file: Path, name: str, made: dict[str, Any]) -> None:
    """Put events into a database as they are."""
    connection = sqlite3.connect(file)
    connection.execute("DELETE FROM events WHERE study = ?", (name,))
    entries = made.get("events")
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        try:
            payload = canonical(entry.get("payload"))
        except ValueError:
            payload = json.dumps(entry.get("payload"))
        row = [entry.get(key) for key in ("seq", "at", "kind", "previous", "hash")]
        plain = [c if isinstance(c, str | int | float | None) else json.dumps(c) for c in row]
        seq, at, kind, previous, digest = plain
        values = (made.get("study"), seq, at, kind, payload, previous, digest)
        with suppress(sqlite3.Error, OverflowError, UnicodeError):  # it is not taken
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("file", PROBLEMS, ids=lambda file: file.stem)
def test_problem_files(file: Path, tmp_path: Path) -> None:
    for other in FORMATS.glob("*.csv"):
        shutil.copy(other, tmp_path)
    lines = file.read_text().splitlines()
    words = ["1e300", "-1", "0", "nan", "true", '""', '"A"', "[]", "{}", "1e-320", "[[1]]", "x"]

    def act(rng: random.Random) -> bool:
        made = list(lines)
        for _ in range(rng.choice([1, 1, 2, 3])):
            place = rng.randrange(len(made))
            line = made[place]
            kind = rng.randrange(5)
            if kind == 0 and "=" in line:
                made[place] = f"{line.split('=')[0]}= {rng.choice(words)}"
            elif kind == 1:
                made.insert(rng.randrange(len(made)), line)
            elif kind == 2 and len(made) > 1:
                del made[place]
            elif kind == 3 and line:
                at = rng.randrange(len(line))
                made[place] = line[:at] + rng.choice('0123456789.-e"[]{}, x') + line[at + 1 :]
            else:
                digits = [i for i, c in enumerate(line) if c.isdigit()]
                if digits:
                    at = rng.choice(digits)
                    made[place] = (
                        line[:at] + rng.choice(["9e9", "-", "0", "7"]) + line[at + 1 :]
                    )
        copied = tmp_path / "mutant.toml"
        copied.write_text("\n".join(made))

        def use() -> None:
            with open_store("sqlite://", create=True) as store:
                study = Study.create(copied, store, name="mutant", seed=1)
                check_study(study.name, store)

        return judge(use)

    run(file.name, act)


THIRD = EXAMPLES / "schema-3-third.json"


@pytest.mark.parametrize(
    ("seq", "way", "value", "sentence"),
    [
        (4, ["key"], 5, "event 4 (told): key must be a text"),
        (4, ["key"], "", "event 4 (told): key must be a text"),
        (4, ["by"], "ann", "event 4 (told): by must be an object"),
        (4, ["by", "user"], 7, "event 4 (told): by.user must be a text"),
        (4, ["schema"], True, "has schema True"),
        (4, ["schema"], 3.0, "has schema 3.0"),
        (4, ["new"], 1, "event 4 (told) has a field 'new', which this version"),
        (4, ["results", 0, "arm"], 1, "results[0].arm must be a text"),
        (4, ["results", 0, "values", "gain"], True, "values['gain'] must be a number"),
        (4, ["results", 0, "values", "gain"], "3", "values['gain'] must be a number"),
        (4, ["results", 0, "kept"], {"x": 1}, "kept['x'] must be a text"),
        (3, ["file", "digest"], "0", "file.digest must be like"),
        (2, ["expires"], "tomorrow", "expires must be a time"),
        (5, ["result"], True, "result must be a whole number"),
        (5, ["reason"], None, "reason must be a text"),
        (6, ["results"], [0], "results[0] must be a whole number"),
        (6, ["awaits"], 1, "awaits must be true or false"),
        (1, ["seed"], 1.5, "seed must be a whole number"),
        (1, ["budget"], True, "budget must be a number"),
        (1, ["problem", "covariance"], [[True, 0], [0, 1]], "covariance must be a number"),
    ],
)
def test_every_field_is_checked(
    tmp_path: Path, seq: int, way: list[Any], value: Any, sentence: str
) -> None:
    data = json.loads(THIRD.read_text())
    *steps, last = way
    parent = data["events"][seq - 1]["payload"]
    for step in steps:
        parent = parent[step]
    parent[last] = value
    rehash(data, random.Random(0))
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(data))
    with open_store("sqlite://", create=True) as store:
        with pytest.raises(InputError) as found:
            transfer.import_export(store, file)
        assert sentence in str(found.value)
        assert store.studies() == []


def test_json_that_says_two_things(tmp_path: Path) -> None:
    file = tmp_path / "changed.json"
    text = THIRD.read_text()
    file.write_text(text.replace('"study":', '"study": "other", "study":', 1))
    with (
        open_store("sqlite://", create=True) as store,
        pytest.raises(InputError, match="the key 'study' comes twice in one object"),
    ):
        transfer.import_export(store, file)


def test_a_log_in_the_database_that_means_nothing(tmp_path: Path) -> None:
    """Whoever can write to the database gets a sentence too, and no traceback."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as store:
        transfer.import_export(store, THIRD)
        data = json.loads(THIRD.read_text())
        data["events"][6]["kind"] = "confirmed"
        payload = {"results": [], "events": [3], "reason": ""}
        data["events"][6]["payload"] = {
            **{k: data["events"][6]["payload"][k] for k in ("schema", "by", "key")},
            **payload,
        }
        rehash(data, random.Random(0))
        rewrite(tmp_path / "a.db", "third", data)
        with pytest.raises(DamagedError, match="cannot be replayed"):
            Study.open("third", store)
