"""The command line of studies: what it does, and more than 40 inputs that it refuses."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips.cli import main
from psips.study import Study

DESIGN = """
name = "trial"
arms = ["A", "B", "C", "D"]
delta = 0.05
seed = 7
[[objectives]]
name = "efficacy"
variance = 1.0
[[objectives]]
name = "toxicity"
direction = "min"
variance = 0.25
"""
FILES = {
    "design.toml": DESIGN,
    "noname.toml": DESIGN.replace('"trial"', '" "'),
    "rule.toml": DESIGN + '[rules]\nsampling = "projcted"\n',
    "proof.toml": DESIGN.replace("variance = 0.25", "variance = -1.0"),
    "delta.toml": DESIGN.replace("0.05", "5"),
    "broken.toml": "name = \n",
    "oracle.toml": DESIGN.replace('"trial"', '"oracle"') + '[rules]\nsampling = "oracle"\n',
    "empty.csv": "",
    "header.csv": "ticket,efficacy,toxicity\n",
    "columns.csv": "ticket,efficacy\ntrial-000001,1\n",
    "noarm.csv": "patient,efficacy,toxicity\n7,1,2\n",
    "ragged.csv": "arm,efficacy,toxicity\nA,1,2\nB,1\n",
    "twice.csv": "arm,efficacy,toxicity,efficacy\nA,1,2,3\n",
    "word.csv": "arm,efficacy,toxicity\nA,1,2\nB,high,2\n",
    "hole.csv": "arm,efficacy,toxicity\nA,1,2\nB,,2\n",
    "infinite.csv": "arm,efficacy,toxicity\nA,1,2\nB,inf,2\n",
    "arm.csv": "arm,efficacy,toxicity\nA,1,2\nE,1,2\n",
    "ticket.csv": "ticket,efficacy,toxicity\ntrial-000004,1,2\ntrial-000099,1,2\n",
    "contradiction.csv": "ticket,efficacy,toxicity\ntrial-000004,1,2\ntrial-000004,1,3\n",
    "other.csv": "ticket,efficacy,toxicity\ntrial-000001,1,2\n",
    "unknown.csv": "ticket,arm,efficacy,toxicity\n,,1,2\n",
    "mismatch.csv": "ticket,arm,efficacy,toxicity\ntrial-000004,A,1,2\n",
    "quote.csv": 'arm,efficacy,toxicity\n"A,1,2\n',
}
VALUES = "--value efficacy=1 --value toxicity=2"

# In the store: 'trial' with tickets 1 (told), 2 (cancelled), 3 (its result was
# withdrawn) and 4 (open), and 'over', which is closed.
BAD = [
    ("watch trial --every 0", "--every must lie between 0.2 and 3600 seconds"),
    ("create nowhere.toml", "cannot read the problem file nowhere.toml"),
    ("create broken.toml", "broken.toml is not valid TOML"),
    ("create design.toml", "there is a study 'trial' in this store already"),
    ("create noname.toml", "a study needs a name of 1 to 100 printable characters"),
    ("create rule.toml --name new", "unknown sampling rule 'projcted'"),
    ("create proof.toml --name new", "proof.toml: "),
    ("create delta.toml --name new", "delta must lie strictly between 0 and 1"),
    ("create oracle.toml", "the sampling rule 'oracle' needs the truth"),
    ("create design.toml --name new --seed -1", "seed must be a whole number of at least 0"),
    ("create design.toml --store mysql://here/x", "a store is in SQLite or PostgreSQL"),
    ("create design.toml --store sqlite:///none/a.db", "does not exist: make it first"),
    ("rank trial --weight 3", "--weight must be objective=number, got '3'"),
    ("ask tiral", "unknown study 'tiral': did you mean 'trial'?"),
    ("ask trial -n 0", "the number of tickets must be a whole number of at least 1, got 0"),
    ("ask trial --expires -2", "tickets expire after a positive time"),
    ("ask over", "the study 'over' is closed"),
    ("ask trial --store sqlite:///none.db", "there is no store 'none.db'"),
    ("tell trial", "name what was measured: --ticket, --arm or --csv"),
    ("tell trial --arm A", "the result has no values: add --value efficacy=..."),
    ("tell trial --arm A --value efficacy=1", "no value for objective 'toxicity'"),
    ("tell trial --arm A --value efficacy", "--value must be objective=number"),
    ("tell trial --arm A --value efficacy=high", "must be a number, got 'high'"),
    ("tell trial --arm A --value efficacy=nan --value toxicity=1", "must be finite, got 'nan'"),
    (f"tell trial --arm A {VALUES} --value toxicity=3", "'toxicity' has several values"),
    (f"tell trial --arm A {VALUES} --value effcacy=3", "did you mean 'efficacy'?"),
    (f"tell trial --arm E {VALUES}", "unknown arm 'E'"),
    (f"tell trial --ticket trial-000005 {VALUES}", "unknown ticket 'trial-000005'"),
    (f"tell trial --ticket trial-4 {VALUES}", "unknown ticket 'trial-4'"),
    (f"tell trial --ticket trial-000001 {VALUES}", "has another result already"),
    (f"tell trial --ticket trial-000002 {VALUES}", "ticket 'trial-000002' was cancelled"),
    (f"tell trial --ticket trial-000003 {VALUES}", "of ticket 'trial-000003' was withdrawn"),
    (f"tell trial --ticket trial-000004 --arm A {VALUES}", "is for arm 'D', not 'A'"),
    (f"tell over --arm A {VALUES}", "the study 'over' is closed"),
    (f"tell trial --csv header.csv {VALUES}", "either --csv or a single result, not both"),
    ("tell trial --csv nowhere.csv", "cannot read the results nowhere.csv"),
    ("tell trial --csv empty.csv", "empty.csv is empty"),
    ("tell trial --csv header.csv", "header.csv has a header line and no results below it"),
    ("tell trial --csv columns.csv", "columns.csv has no column 'toxicity'"),
    ("tell trial --csv noarm.csv", "noarm.csv has no column 'ticket' or 'arm'"),
    ("tell trial --csv ragged.csv", "ragged.csv line 3 has 2 cells, but its header has 3"),
    ("tell trial --csv twice.csv", "twice.csv has several columns 'efficacy'"),
    ("tell trial --csv quote.csv", "quote.csv is not a CSV file: "),
    ("tell trial --csv word.csv", "word.csv line 3: the value of 'efficacy' must be a number"),
    ("tell trial --csv hole.csv", "hole.csv line 3: the value of 'efficacy' is missing"),
    ("tell trial --csv infinite.csv", "infinite.csv line 3: the value of 'efficacy' must be"),
    ("tell trial --csv arm.csv", "arm.csv line 3: unknown arm 'E'"),
    ("tell trial --csv ticket.csv", "ticket.csv line 3: unknown ticket 'trial-000099'"),
    ("tell trial --csv contradiction.csv", "line 3: ticket 'trial-000004' has another result"),
    ("tell trial --csv other.csv", "line 2: ticket 'trial-000001' has another result already"),
    ("tell trial --csv unknown.csv", "line 2: the result has neither a ticket nor an arm"),
    ("tell trial --csv mismatch.csv", "line 2: ticket 'trial-000004' is for arm 'D'"),
    (f"correct trial {VALUES}", "name the result by its ticket or by its number"),
    (f"correct trial --result 9 {VALUES}", "there is no result number 9; 2 were told so far"),
    (f"correct trial --ticket trial-000004 {VALUES}", "'trial-000004' has no result yet"),
    (f"correct trial --ticket trial-000003 {VALUES}", "was withdrawn: nothing to correct"),
    ("withdraw trial --result 0", "must be a whole number of at least 1, got 0"),
    ("cancel trial trial-000001", "has a result: withdraw the result instead"),
    ("cancel trial trial-000004 trial-000009", "unknown ticket 'trial-000009'"),
    ("close over", "the study 'over' is closed"),
    ("status tiral", "unknown study 'tiral'"),
    ("log tiral", "unknown study 'tiral'"),
    ("verify tiral", "unknown study 'tiral'"),
    ("export trial --format xml", "unknown format 'xml'"),
    ("export trial --out none/a.csv", "cannot write none/a.csv: No such file or directory"),
    ("list --store sqlite:///none.db", "there is no store 'none.db'"),
    ("list --store sqlite:///word.csv", "file is not a database"),
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``psips study`` in this process; give its exit code, output and error output."""

    def call(command: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", "study", *shlex.split(command)])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        written = capsys.readouterr()
        return (code if isinstance(code, int) else 0), written.out, written.err

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSIPS_STORE", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store with studies in it."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "design.toml").write_text(DESIGN)
    url = f"sqlite:///{folder / 'psips.db'}"
    study = Study.create(folder / "design.toml", url)
    study.ask(4)
    study.tell(values=[5.0, 5.0], ticket="trial-000001")
    study.cancel("trial-000002")
    study.tell(values=[1.0, 1.0], ticket="trial-000003")
    study.withdraw(ticket="trial-000003")
    other = Study.create(folder / "design.toml", study.store, name="over")
    other.close()
    study.store.close()
    return (folder / "psips.db").read_bytes()


def test_there_are_enough_of_them() -> None:
    assert len({command for command, _ in BAD}) == len(BAD) >= 40


@pytest.mark.parametrize(("command", "sentence"), BAD)
def test_bad_input(run: Any, folder: Path, filled: bytes, command: str, sentence: str) -> None:
    (folder / "psips.db").write_bytes(filled)
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert err.startswith("psips: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert (folder / "psips.db").read_bytes() == filled
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "command", ["", "asc trial", "ask", "ask trial -n two", "cancel trial"]
)
def test_bad_usage(run: Any, folder: Path, command: str) -> None:
    code, _, err = run(command)
    assert code == 2
    assert "psips study" in err or command == ""


def test_every_problem_of_a_file_in_one_list(run: Any, folder: Path, filled: bytes) -> None:
    (folder / "psips.db").write_bytes(filled)
    (folder / "all.csv").write_text(
        "ticket,arm,efficacy,toxicity\ntrial-000004,,1,2\n,E,high,\ntrial-000077,,1,nan\n"
    )
    code, out, err = run("tell trial --csv all.csv")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "psips: 5 problems, so nothing was recorded:",
        "  all.csv line 3: unknown arm 'E'; known: 'A', 'B', 'C', 'D'",
        "  all.csv line 3: the value of 'efficacy' must be a number, got 'high'",
        "  all.csv line 3: the value of 'toxicity' is missing: fill it in, leave such lines of "
        "a file out with --skip-incomplete, or allow missing values with partial = true "
        "in the design",
        "  all.csv line 4: unknown ticket 'trial-000077'; given out so far: trial-000001 to "
        "trial-000004",
        "  all.csv line 4: the value of 'toxicity' must be finite, got 'nan'",
    ]
    assert (folder / "psips.db").read_bytes() == filled


def test_a_study_from_start_to_stop(run: Any, folder: Path) -> None:
    means = {"A": (3, 1), "B": (0, 3), "C": (0, 4), "D": (1, 3)}
    code, out, _ = run("create design.toml")
    assert (code, out) == (
        0,
        "created the study 'trial': 4 arms, 2 objectives, delta 0.05, seed 7\n",
    )
    assert (folder / "psips.db").exists()
    rounds = 0
    while True:
        code, out, err = run("ask trial -n 4 --json")
        assert err == ""
        asked = json.loads(out)
        if code == 3:
            break
        assert code == 0
        assert len(asked["tickets"]) == 4
        with (folder / "results.csv").open("w") as file:
            print("efficacy,ticket,toxicity", file=file)
            for ticket in asked["tickets"]:
                efficacy, toxicity = means[ticket["arm"]]
                print(f"{efficacy},{ticket['ticket']},{toxicity}", file=file)
        code, out, _ = run("tell trial --csv results.csv")
        assert code in (0, 3)
        assert out.startswith(f"recorded 4 results, {4 * rounds + 1} to {4 * rounds + 4}; ")
        rounds += 1
        assert rounds < 100
    assert asked == {"tickets": [], "stopped": True}
    code, out, _ = run("ask trial")
    assert (code, out) == (3, "stopped; Pareto set: A\n")
    code, out, _ = run("tell trial --csv results.csv --json")
    assert code == 3
    assert json.loads(out) == {
        "recorded": 0,
        "known": 4,
        "results": [],
        "stopped": True,
        "warnings": [],
    }
    code, out, _ = run("status trial --json")
    assert code == 3
    status = json.loads(out)
    assert status["pareto_set"] == ["A"]
    assert status["results"] == 4 * rounds
    assert 0 < status["probability_of_change"] < 0.05
    assert status["open_tickets"] == []
    code, out, _ = run("ask trial --anyway --json")
    assert code == 3
    assert len(json.loads(out)["tickets"]) == 1
    assert run("verify trial")[0] == 0


def test_every_command(run: Any, folder: Path) -> None:
    assert json.loads(run("create design.toml --json")[1]) == {
        "study": "trial",
        "arms": ["A", "B", "C", "D"],
        "objectives": ["efficacy", "toxicity"],
        "delta": 0.05,
        "seed": 7,
    }
    code, out, _ = run("ask trial -n 3 --expires 2")
    assert (code, out) == (0, "trial-000001\tA\ntrial-000002\tB\ntrial-000003\tC\n")
    told = "tell trial --ticket trial-000001 --value toxicity=0.3 --value efficacy=1.25"
    way = "not stopped: 1 result in all\n"
    assert run(told)[:2] == (0, f"recorded result 1; {way}")
    assert run(told)[:2] == (0, f"recorded nothing, known already 1; {way}")
    assert run("tell trial --arm D --value toxicity=-1 --value efficacy=2e-1")[0] == 0
    correction = "correct trial --ticket trial-000001 --value toxicity=0.5"
    both = way.replace("1 result ", "2 results ")
    assert run(f"{correction} --reason 'wrong column'")[:2] == (0, f"corrected; {both}")
    assert run(correction)[:2] == (0, f"it has these values already; {both}")
    withdrawal = "withdraw trial --result 2 --reason 'wrong patient'"
    one = way.replace("1 result in all", "1 of 2 results count")
    assert run(withdrawal)[:2] == (0, f"withdrawn; {one}")
    assert run(withdrawal)[:2] == (0, f"it was withdrawn already; {one}")
    assert run("cancel trial trial-000003")[:2] == (0, "cancelled trial-000003\n")
    code, out, _ = run("status trial")
    assert code == 0
    assert "trial: open after 1 result\n" in out
    status = json.loads(run("status trial --json")[1])
    assert status["arms"]["A"]["pulls"] == status["arms"]["B"]["pending"] == 1
    assert status["arms"]["B"]["efficacy estimate"] is None
    assert status["probability_of_change"] is None
    assert status["answers"]["A"]["efficacy estimate"] == 1.25
    assert [ticket["id"] for ticket in status["open_tickets"]] == ["trial-000002"]
    assert "  trial-000002 B (asked " in out
    assert "trial-000003" not in out
    code, out, _ = run("export trial")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["arm"], row["efficacy"], row["toxicity"]) for row in rows] == [
        ("A", "1.25", "0.5"),
        ("D", "0.2", "-1.0"),
    ]
    assert [(row["corrected"], row["withdrawn"]) for row in rows] == [("1", ""), ("0", "yes")]
    data = json.loads(run("export trial --format json")[1])
    assert data["design"]["seed"] == 7
    assert [ticket["arm"] for ticket in data["tickets"]] == ["A", "B", "C"]
    assert data["results"][0]["values"] == {"efficacy": 1.25, "toxicity": 0.5}
    assert run("export trial --out all.json --json")[:2] == (0, "")
    assert json.loads((folder / "all.json").read_text()) == data
    code, out, _ = run("log trial")
    assert [line.split()[2] for line in out.splitlines()] == [
        *("created", "asked", "told", "told", "corrected", "withdrawn", "withdrawn"),
    ]
    assert "wrong column" in out
    assert json.loads(run("log trial --json")[1])["events"] == data["events"]
    assert run("list")[1].splitlines()[1].split() == ["trial", "open", "1"]
    (listed,) = json.loads(run("list --json")[1])["studies"]
    assert (listed["study"], listed["state"], listed["results"]) == ("trial", "open", 1)
    assert run("close trial --reason done")[:2] == (0, "closed the study 'trial'\n")
    assert json.loads(run("verify trial --json")[1])["problems"] == []
    assert run("status trial")[1].startswith("trial: closed after 1 result\n")
    assert run("list")[1].splitlines()[1].split() == ["trial", "closed", "1"]


def test_the_store_in_the_environment(
    run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSIPS_STORE", "sqlite:///elsewhere.db")
    assert run("create design.toml")[0] == 0
    assert (folder / "elsewhere.db").exists()
    assert not (folder / "psips.db").exists()
    assert "trial  open" in run("list")[1]


def test_a_forged_log(run: Any, folder: Path, filled: bytes) -> None:
    (folder / "psips.db").write_bytes(filled)
    assert run("verify trial")[0] == 0
    with sqlite3.connect(folder / "psips.db") as connection:
        change = "UPDATE events SET payload = replace(payload, '5.0', '6.0')"
        connection.execute(f"{change} WHERE study = 'trial' AND kind = 'told'")
    connection.close()
    code, out, _ = run("verify trial")
    assert code == 1
    assert "event 3 (told) was changed: its hash is not that of what it says" in out
    assert run("verify trial --json")[0] == 1


def test_the_same_file_twice(run: Any, folder: Path) -> None:
    assert run("create design.toml")[0] == 0
    (folder / "a.csv").write_text("arm,efficacy,toxicity\nA,1,2\nB,1,2\n")
    assert run("tell trial --csv a.csv")[1].startswith("recorded 2 results, 1 to 2; ")
    # saved again by a spreadsheet, under another name
    (folder / "b.csv").write_bytes(b"\xef\xbb\xbfarm, efficacy,toxicity\r\nA,1 ,2\r\nB,1,2\r\n")
    before = (folder / "psips.db").read_bytes()
    for name in ("a.csv", "b.csv"):
        code, out, err = run(f"tell trial --csv {name}")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"the results in '{name}' were told already, on 2" in err
        assert "2 of them would be counted twice" in err
    assert (folder / "psips.db").read_bytes() == before
    assert run("tell trial --csv b.csv --again")[1].startswith("recorded 2 results, 3 to 4; ")
    (folder / "c.csv").write_text("arm,efficacy,toxicity\nA,1,2\nB,1,2.5\n")
    assert run("tell trial --csv c.csv")[0] == 0
    assert run("verify trial")[0] == 0


def test_a_file_of_tickets_may_come_again(run: Any, folder: Path) -> None:
    run("create design.toml")
    run("ask trial -n 2")
    (folder / "a.csv").write_text(
        "ticket,efficacy,toxicity\ntrial-000001,1,2\ntrial-000002,1,2\n"
    )
    assert run("tell trial --csv a.csv")[0] == 0
    assert run("tell trial --csv a.csv")[:2] == (
        *(0,),
        "recorded nothing, known already 2; not stopped: 2 results in all\n",
    )


def test_a_cached_state_remembers_the_files(run: Any, folder: Path) -> None:
    run("create design.toml")
    (folder / "a.csv").write_text("arm,efficacy,toxicity\nA,1,2\n")
    assert run("tell trial --csv a.csv")[0] == 0
    assert run("correct trial --result 1 --value efficacy=2")[0] == 0  # caches the state
    with sqlite3.connect(folder / "psips.db") as connection:
        assert connection.execute("SELECT count(*) FROM snapshots").fetchone() == (1,)
    connection.close()
    assert run("tell trial --csv a.csv")[0] == 2
    assert run("verify trial")[0] == 0


def test_a_mistyped_value_is_asked_about(run: Any, folder: Path) -> None:
    run("create design.toml")
    told = "tell trial --value toxicity=2 --arm"
    for value in (34.1, 35.2, 34.9):
        assert run(f"{told} A --value efficacy={value}")[2] == ""
    code, out, err = run(f"{told} A --value efficacy=3450")
    assert code == 0
    assert out.startswith("recorded result 4; ")
    assert err == (
        "psips: warning: efficacy = 3450 is 3,415 standard deviations (1 each) from the other "
        "results of arm 'A' (about 35.05): if it is a slip, `psips study correct trial "
        "--result 4 --value efficacy=34.5`\n"
    )
    assert json.loads(run(f"{told} A --value efficacy=345 --json")[1])["warnings"] != []
    code, out, err = run(f"{told} A --value efficacy=-34.5 --strict")
    assert (code, out) == (2, "")
    assert "efficacy = -34.5 is 70 standard deviations (1 each) from" in err
    assert run("correct trial --result 4 --value efficacy=34.5")[0] == 0
    assert run("withdraw trial --result 5")[0] == 0
    # An arm without results is compared with the others, and less strictly.
    assert run(f"{told} B --value efficacy=90")[2] == ""
    assert "from every other arm" in run(f"{told} C --value efficacy=9000")[2]
    # A file is compared line by line with what is above it.
    (folder / "a.csv").write_text("arm,efficacy,toxicity\nD,34,2\nD,34,2\nD,34,20\n")
    code, _, err = run("tell trial --csv a.csv --strict")
    assert code == 2
    assert err.startswith("psips: a.csv line 4: toxicity = 20 is 36 standard deviations (0.5")


def test_ordinary_noise_is_no_outlier(run: Any, folder: Path) -> None:
    rng = np.random.default_rng(1)
    run("create design.toml")
    lines = [f"{arm},{rng.normal(5, 1)},{rng.normal(2, 0.5)}" for arm in "ABCD" * 500]
    (folder / "a.csv").write_text("arm,efficacy,toxicity\n" + "\n".join(lines))
    code, _, err = run("tell trial --csv a.csv --strict")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("column", ["n", "se", "SD", "efficacy_se", "toxicity sd"])
def test_means_are_no_results(run: Any, folder: Path, column: str) -> None:
    run("create design.toml")
    (folder / "a.csv").write_text(f"arm,efficacy,toxicity,{column}\nA,1,2,30\n")
    code, out, err = run("tell trial --csv a.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"the column '{column}' looks like one of a table of means" in err
    assert "a result is one measurement" in err


def test_other_columns_are_kept_if_asked(run: Any, folder: Path) -> None:
    run("create design.toml")
    text = "patient,arm,date,efficacy,toxicity\np1,A,2026-03-01,1,2\np2,B,2026-03-02,1,2\n"
    (folder / "a.csv").write_text(text)
    code, _, err = run("tell trial --csv a.csv --keep-columns patient,dat")
    assert code == 2
    assert "unknown column to keep 'dat': did you mean 'date'?" in err
    assert run("tell trial --csv a.csv --keep-columns patient,date")[0] == 0
    assert run("tell trial --arm C --value efficacy=1 --value toxicity=2")[0] == 0
    (folder / "b.csv").write_text(text.replace("p1", "p3"))
    assert run("tell trial --csv b.csv --keep-columns all")[0] == 0
    (folder / "c.csv").write_text(text.replace("p1", "p4"))
    assert run("tell trial --csv c.csv")[0] == 0
    rows = list(csv.DictReader(io.StringIO(run("export trial")[1])))
    kept = [(row["patient"], row["date"]) for row in rows]
    first, second = ("p1", "2026-03-01"), ("p2", "2026-03-02")
    other = ("p3", "2026-03-01")
    assert kept == [first, second, ("", ""), other, second, ("", ""), ("", "")]
    data = json.loads(run("export trial --json")[1])
    assert data["results"][0]["kept"] == {"patient": "p1", "date": "2026-03-01"}
    assert "kept" not in data["results"][2]
    assert "p1" in run("log trial")[1]
    assert "p4" not in run("log trial")[1]
    run("correct trial --result 1 --value efficacy=2")  # caches the state
    assert "2026-03-01,p1" in run("export trial")[1]
    assert run("verify trial")[0] == 0


def test_a_status_fits_a_terminal(run: Any, folder: Path) -> None:
    names = [f"a booster with a rather long name, number {i}" for i in range(4)]
    design = DESIGN.replace('["A", "B", "C", "D"]', str(names))
    for i in range(4):
        design += f'[[objectives]]\nname = "another measured quantity {i}"\nvariance = 1.0\n'
    (folder / "wide.toml").write_text(design.replace('"trial"', '"wide"'))
    run("create wide.toml")
    header = ",".join(f"another measured quantity {i}" for i in range(4))
    lines = [f'"{n}",{i},{i},1,2,3,4\n' for i, n in enumerate(names)]
    (folder / "w.csv").write_text(f"arm,efficacy,toxicity,{header}\n{''.join(lines)}")
    assert run("tell wide --csv w.csv")[0] == 0
    assert run("ask wide -n 12")[0] == 0
    out = run("status wide")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert "and 2 more" in out
    assert out.count("(asked 2") == 10
    status = json.loads(run("status wide --json")[1])
    assert len(status["open_tickets"]) == 12
    flat = " ".join(out.split())
    for row in status["answers"].values():
        assert row["reason"] in flat


def test_a_damaged_study_does_not_hide_the_others(
    run: Any, folder: Path, filled: bytes
) -> None:
    (folder / "psips.db").write_bytes(filled)
    with sqlite3.connect(folder / "psips.db") as connection:
        connection.execute("UPDATE events SET payload = 'no JSON' WHERE study = 'over'")
        connection.execute("DELETE FROM snapshots")
    connection.close()
    code, out, err = run("list")
    assert (code, err) == (0, "")
    heading, over, trial = out.splitlines()
    assert heading.split() == ["study", "state", "results", "to", "the", "stop"]
    assert over.split()[:2] == ["over", "damaged:"]
    assert "psips study verify over" in over
    assert trial.split() == ["trial", "open", "1"]


def test_help(run: Any) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for name in ("create", "ask", "tell", "correct", "withdraw", "cancel", "close"):
        assert name in out
    for name in ("status", "log", "export", "list", "verify"):
        assert name in out
