"""The commands that check, copy, sign and confirm."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from psips.cli import main
from psips.store import DatabaseStore, UnknownOutcomeError

DESIGN = """
name = "trial"
arms = ["A", "B"]
seed = 7
objectives = [{name = "gain", variance = 1.0}]
[study]
two_people = true
"""
EXAMPLES = Path(__file__).parent / "store" / "examples"


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    """Run ``psips study`` in a folder with a design; give exit code, output, error output."""
    (tmp_path / "design.toml").write_text(DESIGN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSIPS_STORE", raising=False)
    monkeypatch.setenv("PSIPS_USER", "Ann")

    def call(command: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", "study", *command.split()])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        written = capsys.readouterr()
        return (code if isinstance(code, int) else 0), written.out, written.err

    return call


def test_held_results_and_second_people(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("create design.toml")
    for value in (1, 1.5, 1.2):
        run(f"tell trial --arm A --value gain={value}")
    code, out, _ = run("tell trial --arm A --value gain=150")
    assert code == 0
    assert "held, does not count: result 4 of A (150)" in out
    assert "held, does not count: result 4 of A (150)" in run("status trial")[1]
    assert [r["number"] for r in json.loads(run("status trial --json")[1])["held"]] == [4]
    assert run("confirm trial --result 4")[:2] == (0, "confirmed\n")
    assert run("confirm trial --result 4")[:2] == (0, "there was nothing left to confirm\n")
    code, out, _ = run("correct trial --result 4 --value gain=1.5")
    assert out == "recorded as event 7; it counts once another person has confirmed it\n"
    assert "event 7 (corrected, by Ann) waits for another person" in run("status trial")[1]
    code, _, err = run("confirm trial --event 7")
    assert (code, err) == (
        2,
        "psips: event 7 was recorded by 'Ann': another person must confirm it\n",
    )
    monkeypatch.setenv("PSIPS_USER", "Ben")
    assert run("confirm trial --event 7")[0] == 0
    assert "waits" not in run("status trial")[1]
    assert run("verify trial")[0] == 0
    assert '"by": "Ben@' in run("log trial")[1]


def test_copies(run: Any, tmp_path: Path) -> None:
    run("create design.toml")
    run("tell trial --arm A --value gain=1 --key first")
    again = run("tell trial --arm A --value gain=1 --key first")[1]
    assert again.startswith("recorded result 1; not stopped: 1 result in all")
    head = json.loads(run("status trial --json")[1])["head"]
    assert run("heads")[1] == f"{head}  2  trial\n"
    assert run("backup kept.db")[1] == f"{head}  trial\n"
    assert run("restore kept.db --store new.db")[1] == f"{head}  trial\n"
    assert run("export trial --json --out trial.json")[0] == 0
    assert run("import trial.json --store sqlite:///newer.db")[1] == f"{head}  trial\n"
    for store in ("new.db", "newer.db"):
        assert run(f"verify trial --store {store}")[0] == 0
    assert run("backup kept.db --overwrite")[0] == 2  # a store all the same


def test_a_key_that_is_used_for_something_else(run: Any) -> None:
    run("create design.toml")
    for value in (1, 1.5):
        run(f"tell trial --arm A --value gain={value}")
    run("ask trial -n 2 --key asked")
    tickets = [
        t["ticket"] for t in json.loads(run("ask trial -n 2 --key asked --json")[1])["tickets"]
    ]
    assert run("withdraw trial --result 1 --key K")[0] == 0
    events = run("log trial")[1]
    assert run("withdraw trial --result 1 --key K")[0] == 0
    for other in (
        "withdraw trial --result 2 --key K",
        "withdraw trial --result 9 --key K",
        "withdraw trial --result 1 --key K --as Ben",
        "correct trial --result 1 --value gain=3 --key K",
        f"cancel trial {tickets[0]} --key K",
        "close trial --key K",
        "ask trial -n 2 --expires 1 --key asked",
        f"cancel trial {tickets[0]} --key asked",
        "tell trial --arm A --value gain=1 --key asked",
    ):
        code, out, err = run(other)
        assert (code, out) == (2, "")
        assert "is that of another event, number" in err
        assert len(err.splitlines()) == 1
    assert run("log trial")[1] == events


def test_an_old_store(run: Any, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "schema-1.db", tmp_path / "old.db")
    assert run("status trial --store old.db")[0] == 0
    code, _, err = run("ask trial --store old.db")
    assert code == 2
    assert "`psips study migrate`" in err
    out = run("migrate --store old.db")[1]
    assert out == "the store had format 1, and has format 2 now\n"
    assert run("ask trial --store old.db")[0] == 0


def test_a_damaged_log(run: Any, tmp_path: Path) -> None:
    run("create design.toml")
    run("tell trial --arm A --value gain=1")
    with sqlite3.connect(tmp_path / "psips.db") as connection:
        connection.execute("UPDATE events SET payload = 'nothing' WHERE seq = 2")
    connection.close()
    for command in (
        *("status trial", "ask trial", "tell trial --arm A --value gain=1", "export trial"),
        *("heads", "close trial", "withdraw trial --result 1", "sign trial --ssh-key k"),
    ):
        code, out, err = run(command)
        assert (code, out) == (2, ""), command
        assert "event 2 (told) was changed" in err
        assert "see `psips study verify`" in err
    code, out, err = run("log trial")
    assert code == 1
    assert "nothing" in out
    assert "is not as it was written" in err
    assert "event 2 (told) was changed" in run("verify trial")[1]
    code, out, _ = run("export trial --anyway")
    assert code == 0
    assert json.loads(out)["events"][1]["payload"] == "nothing"


def test_an_unknown_outcome_has_its_own_code(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("create design.toml")

    def lost(*_: object) -> None:
        raise UnknownOutcomeError("the store failed at the end")

    monkeypatch.setattr(DatabaseStore, "writing", lost)
    code, _, err = run("tell trial --arm A --value gain=1 --key mine")
    assert code == 4
    assert "not known whether it was recorded: repeat it with the key 'mine' (--key)" in err


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_signing(run: Any, tmp_path: Path) -> None:
    run("create design.toml")
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")]
    subprocess.run(words, check=True)
    public = (tmp_path / "key.pub").read_text()
    (tmp_path / "allowed_signers").write_text(f"ann@example.org {public}")
    assert run("sign trial --ssh-key key --meaning approved")[0] == 0
    code, out, _ = run("verify trial --signatures trial.sig")
    assert code == 0
    assert "signed by ann@example.org at 2" in out
    assert " (approved): the first 1 events" in out
    (tmp_path / "allowed_signers").write_text("")
    code, out, _ = run("verify trial --signatures trial.sig")
    assert code == 1
    assert "the signature is not valid" in out
