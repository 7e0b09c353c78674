"""From a file of past results to a report on the command line, and the files it refuses."""

from __future__ import annotations

import io
import json
import os
import pty
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips.cli import main
from psips.cli.check import left_out
from psips.problem.problem_file import read_problem_file
from psips.study import Study
from psips.study.drafting import SETTING, as_toml, draft_design, read_table

MEANS = {"AZ": (10.0, 2.0), "BNT": (11.0, 2.5), "m1273": (11.5, 4.0), "CVn": (9.0, 2.2)}


DRAFT = "init past.csv --objective IgG=max --objective toxicity"


def past(n: int = 80, holes: tuple[int, ...] = (16, 43)) -> str:
    """Past results as a spreadsheet in Germany writes them; lines 18 and 45 lack a value."""
    rng = np.random.default_rng(3)
    lines = ["\ufeffDatum;Nr; arm ;IgG;toxicity;Notiz"]
    for i in range(n):
        arm = list(MEANS)[i % 4]
        cells = [f"{x:.3f}".replace(".", ",") for x in rng.normal(MEANS[arm], (1.0, 0.5))]
        if i in holes:
            cells[i % 2] = ""
        lines.append(f"{i // 10 + 1:02d}.03.2026;{i + 1};{arm};{cells[0]};{cells[1]};gut, klar")
    return "\r\n".join(lines) + "\r\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "past.csv").write_text(past(), encoding="utf-8", newline="")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSIPS_STORE", raising=False)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``psips`` in this process; give its exit code, output and error output."""

    def call(command: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", *shlex.split(command)])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        written = capsys.readouterr()
        return (code if isinstance(code, int) else 0), written.out, written.err

    return call


def models(n: int = 40) -> str:
    """Past results of models: passed or not, a time with a long tail, a score."""
    rng = np.random.default_rng(3)
    truth = {
        "small": (0.5, 1.0, 20.0),
        "mid model": (0.7, 2.0, 50.0),
        "large": (0.9, 5.0, 70.0),
    }
    lines = ["arm,success,latency,score"]
    for _ in range(n):
        for arm, (rate, time, score) in truth.items():
            success, latency = int(rng.random() < rate), time * np.exp(rng.normal(0.0, 0.8))
            lines.append(f"{arm},{success},{latency:.4f},{rng.normal(score):.3f}")
    return "\n".join(lines) + "\n"


def test_init_says_which_metrics_repeat_exactly(run: Any, folder: Path) -> None:
    lines = ["arm,time,size", "O1,14.1,100", "O1,14.3,100", "O2,10.1,130", "O2,10.4,130"]
    (folder / "flags.csv").write_text("\n".join([*lines, "O1,14.0,100", "O2,10.2,130"]) + "\n")
    code, out, _ = run("init flags.csv")
    assert code == 0
    assert "size: less is better (guessed: look at it), exact: no noise" in out


def test_init_sees_what_values_are_and_plan_follows(run: Any, folder: Path) -> None:
    """0 or 1, long tails, and the means of the sheet: `plan` goes on from there."""
    (folder / "models.csv").write_text(models())
    code, out, _ = run("init models.csv")
    assert code == 0
    assert "success: more is better (guessed: look at it), 0 or 1" in out
    assert "positive and skewed" in out
    assert "--log latency" in out
    drafted = read_problem_file(folder / "design.toml")
    assert [scale.binary for scale in drafted.problem.scales] == [True, False, False]
    assert not any(scale.log for scale in drafted.problem.scales)
    assert drafted.problem.noise_guess is None  # a study estimates its noise
    rows = [line.split(",") for line in models().splitlines()[1:]]
    means = [
        np.mean([float(r[3]) for r in rows if r[0] == arm]) for arm in drafted.problem.arms
    ]
    assert drafted.guess is not None
    assert drafted.guess.low[:, 2] == pytest.approx(means, rel=1e-5)
    code, out, err = run("plan design.toml --runs 5 --delta 0.1")
    assert code == 0, err
    assert "Pareto set" in out
    code, out, _ = run("init models.csv --force --log latency")
    assert "latency: less is better (guessed: look at it), by its logarithm" in out
    assert "skewed" not in out
    drafted = read_problem_file(folder / "design.toml")
    assert drafted.problem.scales[1].log
    logs = [
        np.mean([np.log(float(r[2])) for r in rows if r[0] == a]) for a in drafted.problem.arms
    ]
    assert drafted.guess is not None
    assert drafted.guess.low[:, 1] == pytest.approx(logs, rel=1e-4)
    assert run("plan design.toml --runs 5 --delta 0.1")[0] == 0
    (folder / "only.csv").write_text(
        "\n".join(",".join(line.split(",")[:2]) for line in models().splitlines())
    )
    assert run("init only.csv --force")[0] == 0
    assert read_problem_file(folder / "design.toml").noise == "bernoulli"
    assert run("plan design.toml --runs 5 --delta 0.1")[0] == 0


def test_from_past_results_to_a_report(folder: Path) -> None:
    """Without a line of Python, and without knowing a covariance: each step is a process."""

    def shell(command: str) -> tuple[int, str, str]:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    code, out, err = shell(f"psips {DRAFT} --name trial")
    assert (code, err) == (0, "")
    assert "past.csv was read with cells separated by semicolons, decimal commas" in out
    assert "IgG: more is better\n" in out
    assert "toxicity: less is better (guessed: look at it)" in out
    assert "2 of 80 results lack a value" in out
    told = out.partition("next:\n")[2].splitlines()
    check, plan, create, tell = (line.strip() for line in told)
    code, out, err = shell(check)
    assert (code, err) == (0, "")
    assert out.startswith("78 results looked at: no violations of the assumptions found\n")
    assert "Left out, a value is missing: line 18, line 45." in out
    code, out, err = shell(f"{plan} --runs 2 --delta 0.1")
    assert (code, err) == (0, "")
    assert out.startswith("trial, if the guess is right")
    code, out, err = shell(create)
    assert (code, err) == (0, "")
    assert out.startswith("created the study 'trial': 4 arms, 2 objectives, delta 0.1, seed ")
    code, out, err = shell(tell)
    assert (code, err) == (0, "")
    assert out.startswith("recorded 80 results, 1 to 80; not stopped: 80 results in all")
    code, out, err = shell("psips study ask trial -n 2")
    assert (code, err) == (0, "")
    tickets = [line.split("\t") for line in out.splitlines()]
    assert [len(ticket) for ticket in tickets] == [2, 2]
    assert {arm for _, arm in tickets} <= set(MEANS)
    code, out, err = shell("psips report trial --out report.html")
    assert (code, err) == (0, "")
    html = (folder / "report.html").read_text()
    assert "Do the results satisfy the assumptions?" in html
    assert "<p>No violations found.</p>" in html
    assert "80 results were recorded; 80 of them count" in html
    assert "The estimated noise" in html


def test_the_draft(folder: Path, run: Any) -> None:
    assert run(DRAFT)[0] == 0
    text = (folder / "design.toml").read_text()
    assert text.count("# guessed") == 1
    assert "# Column 'Datum' is text: left out." in text
    assert "# Column 'Nr' looks like a label: left out." in text
    assert "(78 complete results; the true ones are 0.86 to 1.19 times these" in text
    problem = read_problem_file(folder / "design.toml").problem
    assert (problem.name, problem.arms) == ("past", tuple(MEANS))
    assert dict(zip(problem.objectives, problem.directions, strict=True)) == {
        "IgG": "max",
        "toxicity": "min",
    }
    assert (problem.noise, problem.partial) == ("per-arm", True)
    way = {"IgG": "max", "toxicity": None}
    scatter = draft_design(read_table(folder / "past.csv"), objectives=way).covariance
    assert np.sqrt(np.diag(scatter)) == pytest.approx([1.0, 0.5], rel=0.3)
    code, out, err = run("init past.csv --out chosen.toml --objective toxicity=max --name x")
    assert (code, err) == (0, "")
    assert "IgG was not chosen: left out" in out
    assert "guessed" not in out
    chosen = read_problem_file(folder / "chosen.toml").problem
    assert (chosen.name, chosen.objectives, chosen.directions) == ("x", ("toxicity",), ("max",))


def test_a_direction_that_no_name_settles_is_asked_for(folder: Path, run: Any) -> None:
    code, out, err = run("init past.csv")
    assert (code, out) == (2, "")
    assert err == (
        "psips: whether more or less of 'IgG' is better does not follow from the name: say "
        "it, as in --objective IgG=max --objective toxicity=min (max: more is better; min: "
        "less is better)\n"
    )
    assert not (folder / "design.toml").exists()


def test_a_file_that_exists_stays(folder: Path, run: Any) -> None:
    (folder / "design.toml").write_text("mine")
    code, out, err = run("init past.csv")
    assert (code, out) == (2, "")
    assert "design.toml exists already" in err
    assert (folder / "design.toml").read_text() == "mine"
    assert run(f"{DRAFT} --force")[0] == 0
    assert tomllib.loads((folder / "design.toml").read_text())["name"] == "past"
    before = (folder / "design.toml").read_text()
    (folder / "past.csv").write_text("arm;x\nA;1\n")
    assert run("init past.csv --force")[0] == 2
    assert (folder / "design.toml").read_text() == before
    assert sorted(path.name for path in folder.iterdir()) == ["design.toml", "past.csv"]


def test_questions_on_a_terminal(folder: Path) -> None:
    words = [sys.executable, "-m", "psips", "init", "past.csv"]
    leader, follower = pty.openpty()
    with subprocess.Popen(
        words, stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(follower)
        os.write(leader, b"perhaps\nmin\n\n")  # no answer, an answer, the guess
        out, err = process.communicate(timeout=120)
    os.close(leader)
    assert process.returncode == 0, err
    assert err.count("IgG: is more better (max), or less (min)") == 2
    assert "guessed" not in out
    assert (out.count("less is better"), out.count("more is better")) == (2, 0)
    problem = read_problem_file(folder / "design.toml").problem
    assert problem.directions == ("min", "min")


def test_odd_names_survive() -> None:
    from psips.input.tabular import Grid

    names = ['say "no"', "back\\slash", "naïve ☕", "a#b = [c]"]
    rng = np.random.default_rng(1)
    lines = [(i, [names[i % 4], repr(float(x))]) for i, x in enumerate(rng.normal(size=40), 2)]
    grid = Grid("odd.csv", ["arm", 'cost "€"'], lines, ",")
    data = tomllib.loads(as_toml(draft_design(grid)))
    assert sorted(data["arms"]) == sorted(names)
    assert data["objectives"] == [{"name": 'cost "€"', "direction": "min"}]


def test_columns_that_are_no_objectives(tmp_path: Path) -> None:
    rows = "\n".join(
        f"{i},{5 + i % 2},{'AB'[i % 2]},{i * i % 7},{i % 5 + 0.5}" for i in range(20)
    )
    (tmp_path / "r.csv").write_text(f"at,dose,arm,Error Rate,score\n{rows}\n")
    draft = draft_design(read_table(tmp_path / "r.csv"))
    assert draft.left_out == {
        "at": "counts the results",
        "dose": SETTING,
    }
    assert draft.problem.directions == ("min", "max")
    assert draft.guessed == {"Error Rate", "score"}


def told(study: Study) -> list[tuple[str, tuple[float, ...]]]:
    return [(result.arm, result.values) for result in study.told]


DESIGN = """
name = "trial"
arms = ["A", "BNT Half"]
seed = 7
covariance = [1.0, 1.0]
objectives = ["efficacy", "toxicity"]
"""
SAYS = [("A", (1.5, -2.0)), ("BNT Half", (3.0, 0.25))]


def book(rows: list[list[Any]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


FORMS = {
    "comma.csv": b"arm,efficacy,toxicity\nA,1.5,-2\nBNT Half,3,0.25\n",
    "semicolon.csv": b"\xef\xbb\xbfarm;efficacy;toxicity\r\nA;1,5;-2\r\nBNT Half;3;0,25\r\n",
    "tab.txt": "arm\tefficacy\ttoxicity\nA\t1,5\t-2\nBNT Half\t3\t0,25\n".encode("utf-16"),
    "sheet.xlsx": [["arm", "efficacy", "toxicity"], ["A", 1.5, -2], ["BNT Half", 3.0, 0.25]],
}


def test_one_file_in_every_form(folder: Path, run: Any) -> None:
    """All say the same, so that telling a second one is telling the first one again."""
    (folder / "design.toml").write_text(DESIGN)
    for name, form in FORMS.items():
        (folder / name).write_bytes(form if isinstance(form, bytes) else book(form))
    for name in FORMS:
        store = f"sqlite:///{name}.db"
        assert run(f"study create design.toml --store {store}")[0] == 0
        code, _, err = run(f"study tell trial --csv {name} --store {store}")
        assert (code, err) == (0, "")
        assert told(Study.open("trial", store)) == SAYS
        for other in FORMS:
            code, _, err = run(f"study tell trial --csv {other} --store {store}")
            assert code == 2, other
            assert f"the results in '{other}' were told already" in err


def test_another_name_for_the_arms(folder: Path, run: Any) -> None:
    (folder / "design.toml").write_text(DESIGN)
    text = "booster;efficacy;toxicity;site\nA;1,5;-2;north\nBNT Half;3;0,25;south\n"
    (folder / "r.csv").write_text(text)
    run("study create design.toml")
    code, _, _ = run("study tell trial --csv r.csv --arm-column booster --keep-columns site")
    assert code == 0
    study = Study.open("trial", "sqlite:///psips.db")
    assert told(study) == SAYS
    assert [result.kept for result in study.told] == [{"site": "north"}, {"site": "south"}]


def test_lines_left_out_are_in_the_log(folder: Path, run: Any) -> None:
    (folder / "design.toml").write_text(DESIGN)
    (folder / "r.csv").write_text("arm,efficacy,toxicity\nA,1,2\nA,,2\nA,,\nBNT Half,1,2\n")
    run("study create design.toml")
    code, out, _ = run("study tell trial --csv r.csv --skip-incomplete --json")
    assert code == 0
    assert json.loads(out)["skipped"] == ["line 3", "line 4"]
    assert json.loads(out)["recorded"] == 2
    log = json.loads(run("study log trial --json")[1])
    assert log["events"][1]["payload"]["file"]["skipped"] == ["line 3", "line 4"]
    assert run("study verify trial")[0] == 0
    code, _, err = run("study tell trial --csv r.csv --skip-incomplete")
    assert code == 2
    assert "the results in 'r.csv' were told already" in err


def correlated(n: int = 200) -> str:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(n, 2))
    for t in range(1, n):
        noise[t] = 0.6 * noise[t - 1] + 0.8 * noise[t]
    order = rng.permutation(n)
    arms = np.where(rng.random(n) < 0.5, "A", "BNT Half")
    lines = [
        f"2026-01-{t // 24 + 1:02d} {t % 24:02d}:00,{arms[t]},{noise[t, 0]},{noise[t, 1]}"
        for t in range(n)
    ]
    return "\n".join(["when,arm,efficacy,toxicity", *(lines[i] for i in order)])


def test_what_check_says(folder: Path, run: Any) -> None:
    (folder / "design.toml").write_text(DESIGN)
    (folder / "r.csv").write_text(correlated())
    assert run("check r.csv --problem design.toml")[0] == 0  # the lines are shuffled
    code, out, err = run("check r.csv --problem design.toml --time when")
    assert (code, err) == (1, "")
    assert "autocorrelation: results of efficacy that follow one another" in out
    assert "What to do: " in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run("check r.csv --problem design.toml --time when --json")
    assert code == 1
    data = json.loads(out)
    kinds = {finding["kind"]: finding for finding in data["findings"]}
    assert set(kinds["autocorrelation"]["where"]) == {"efficacy", "toxicity"}
    assert kinds["autocorrelation"]["p_value"] < 1e-6
    assert (data["results"], data["incomplete"]) == (200, [])


def test_lines_that_check_leaves_out_are_listed_within_80_columns() -> None:
    longest = 0
    for last in range(2, 120):
        text = left_out([f"line {number}" for number in range(2, last + 1)])
        longest = max(longest, *map(len, text.splitlines()))
        assert f"line {last}. What to do: " in " ".join(text.split())
        assert all(line.startswith("  ") for line in text.splitlines()[1:])
    assert longest == 80


def test_an_outlier_is_named_by_its_line(folder: Path, run: Any) -> None:
    assert run(DRAFT)[0] == 0
    lines = past().splitlines()
    cells = lines[30].split(";")
    lines[30] = ";".join([*cells[:3], cells[3].replace(",", ""), *cells[4:]])
    (folder / "slip.csv").write_text("\n".join(lines), encoding="utf-8")
    code, out, _ = run("check slip.csv --problem design.toml --json")
    assert code == 1
    (finding,) = json.loads(out)["findings"]
    assert (finding["kind"], finding["where"]) == ("outliers", ["line 31"])


def test_status_and_report_say_it(folder: Path, run: Any) -> None:
    (folder / "design.toml").write_text(DESIGN)
    rows = sorted(correlated().splitlines()[1:])
    (folder / "r.csv").write_text("\n".join(["when,arm,efficacy,toxicity", *rows]))
    run("study create design.toml")
    run("study tell trial --csv r.csv")
    _, out, _ = run("study status trial")
    assert "\nthe results are not as assumed: autocorrelation (psips report says more)\n" in out
    data = json.loads(run("study status trial --json")[1])
    assert [one["kind"] for one in data["diagnosis"]["findings"]] == ["autocorrelation"]
    assert run("report trial --out report.html")[0] == 0
    html = (folder / "report.html").read_text()
    assert "The results violate the assumptions" in html
    assert "<td>autocorrelation</td>" in html or ">autocorrelation<" in html
    assert "measure the arms in random order" in html


HEAD = "arm,efficacy,toxicity\n"
FILES: dict[str, str | bytes | list[list[Any]]] = {
    "design.toml": DESIGN,
    "good.csv": HEAD + "A,1,2\nA,2,3\nA,1,1\nBNT Half,1,2\nBNT Half,2,2\nA,5,4\n",
    "below.csv": HEAD + "A,1,2\nA,-1,3\nA,1,1\nBNT Half,1,2\nBNT Half,2,2\nA,5,4\n",
    "case.csv": HEAD + "A,1,2\nbnt half,1,2\n",
    "space.csv": HEAD + "A,1,2\nBNTHalf,1,2\n",
    "column.csv": "arm,Efficacy,toxicity\nA,1,2\n",
    "two.csv": "arm,Efficacy,Toxicity \nA,1,2\n",
    "names.csv": "Arm,efficacy,toxicity\nA,1,2\n",
    "mixed.csv": "arm;efficacy;toxicity\nA;1,5;2\nA;1.5;2\n",
    "thousands.csv": "arm;efficacy;toxicity\nA;1.234,5;2\n",
    "tabs.csv": "arm\tefficacy\ttoxicity\nA\t1,234\t2\n",
    "quoted.csv": HEAD + 'A,"1,5",2\n',
    "doubt.csv": "arm;efficacy,toxicity\nA;1,5\n",
    "latin.csv": "arm;efficacy;toxicity\nMüller;1;2\n".encode("latin-1"),
    "ragged.csv": "arm;efficacy;toxicity\nA;1;2\nA;1\n",
    "na.csv": HEAD + "A,1,2\nA,NA,3\nBNT Half,1,2\nA,2,2\n",
    "holes.csv": HEAD + "A,,2\nA,1,\n",
    "tickets.csv": "ticket,efficacy,toxicity\nt-1,1,2\n",
    "old.xls": bytes.fromhex("d0cf11e0a1b11ae1"),
    "broken.xlsx": b"PK\x03\x04",
    "broken.parquet": b"PAR1",
    "formula.xlsx": [["arm", "efficacy", "toxicity"], ["A", "=1+1", 2]],
    "word.xlsx": [["arm", "efficacy", "toxicity"], ["A", "high", 2]],
    "true.xlsx": [["arm", "efficacy", "toxicity"], ["A", True, 2]],
    "alike.csv": HEAD + "A,1,2\nA,2,1\na,1,2\nA,2,2\n",
    "unnamed.csv": HEAD + "A,1,2\n,2,1\n",
    "one.csv": HEAD + "A,1,2\nA,2,1\nA,1,1\n",
    "few.csv": HEAD + "A,1,2\nB,2,1\nA,3,1\nB,5,3\n",
    "texts.csv": "arm,note\nA,x\nB,y\n",
    "means.csv": "arm,efficacy,efficacy_se\nA,1,2\nB,2,3\nA,2,2\nB,1,1\n",
    "twice.csv": "arm,efficacy,efficacy\nA,1,2\n",
    "constant.csv": "arm,efficacy\nA,1\nB,2\nA,1\nB,2\n",
    "empty.csv": "",
    "header.csv": HEAD,
    "dates.csv": "when,arm,efficacy,toxicity\n2026-01-02,A,1,2\n02.01.2026,A,1,2\n",
    "times.csv": "when,arm,efficacy,toxicity\n2026-01-02,A,1,2\n7,A,1,2\n",
}
CHECK = "check {} --problem design.toml"
BAD = [
    (CHECK.format("case.csv"), "line 3: unknown arm 'bnt half': did you mean 'BNT Half'?"),
    (CHECK.format("space.csv"), "line 3: unknown arm 'BNTHalf': did you mean 'BNT Half'?"),
    (CHECK.format("column.csv"), "rename 'Efficacy' to 'efficacy' if it is that"),
    (CHECK.format("two.csv"), "rename 'Toxicity' to 'toxicity' if it is that"),
    (CHECK.format("names.csv"), "has no column 'ticket' or 'arm'; its columns: 'Arm'"),
    (CHECK.format("mixed.csv"), "decimal commas (line 2: '1,5') and decimal points (line 3"),
    (CHECK.format("thousands.csv"), "line 2: the value of 'efficacy' must be a number, got"),
    (CHECK.format("tabs.csv"), "line 2: '1,234' may have a decimal comma or a comma between"),
    (CHECK.format("quoted.csv"), "line 2: the value of 'efficacy' must be a number, got '1,5'"),
    (CHECK.format("doubt.csv"), "semicolons and commas in its header"),
    (CHECK.format("latin.csv"), "is not in UTF-8: byte 24 cannot be read; save it as"),
    (CHECK.format("ragged.csv"), "ragged.csv line 3 has 2 cells, but its header has 3"),
    (CHECK.format("na.csv"), "line 3: the value of 'efficacy' must be a number, got 'NA'"),
    (CHECK.format("tickets.csv"), "names its results by tickets, which only their study"),
    (CHECK.format("old.xls"), "old.xls is a file of old Excel (.xls)"),
    (CHECK.format("broken.xlsx"), "broken.xlsx cannot be read as an Excel file"),
    (CHECK.format("broken.parquet"), "psips: broken.parquet "),
    (CHECK.format("formula.xlsx"), "cell B2 has a formula whose value is not in the file"),
    (CHECK.format("word.xlsx"), "word.xlsx row 2: the value of 'efficacy' must be a number"),
    (CHECK.format("true.xlsx"), "row 2: the value of 'efficacy' must be a number, got 'TRUE'"),
    (CHECK.format("good.csv --sheet May"), "good.csv is not an Excel file, so it has no sheet"),
    (CHECK.format("good.csv --arm-column amr"), "'amr': did you mean 'arm'? known: "),
    (CHECK.format("good.csv --arm amr"), "'amr': did you mean 'arm'? known: "),
    ("init good.csv --arm amr", "no column 'amr', but 'arm'"),
    (CHECK.format("good.csv --time then"), "unknown column of times 'then'"),
    (CHECK.format("dates.csv --time when"), "line 3: the time in 'when' must be a number or a"),
    (
        CHECK.format("times.csv --time when"),
        "line 3: the time in 'when' is '7', but lines above",
    ),
    (CHECK.format("empty.csv"), "empty.csv is empty: it needs a header line"),
    (CHECK.format("header.csv"), "header.csv has a header line and no results below it"),
    (CHECK.format("none.csv"), "cannot read the results none.csv: No such file"),
    ("check good.csv --problem none.toml", "cannot read the problem file none.toml"),
    ("init names.csv", "has no column 'arm', but 'Arm' (its columns: 'Arm', 'efficacy'"),
    ("init alike.csv", "line 4: arm 'a' differs from 'A' (line 2) only in case or spaces"),
    ("init unnamed.csv", "unnamed.csv line 3 names no arm: fill it in"),
    ("init one.csv", "one.csv has results of one arm only, 'A'"),
    ("init few.csv", "it takes 3 complete results more than there are arms, and there are 2"),
    ("init texts.csv", "no column of numbers that looks like an objective"),
    ("init means.csv", "the column 'efficacy_se' looks like one of a table of means"),
    ("init twice.csv", "twice.csv has several columns 'efficacy': rename them"),
    (
        "init constant.csv",
        "the same in 'efficacy', so there is no noise to estimate: one result",
    ),
    ("init constant.csv --objective efficacy", "are the same in 'efficacy', so there is no"),
    ("init na.csv", "line 3, column 'efficacy', must be a number, got 'NA'; leave the cell"),
    ("init ragged.csv", "ragged.csv line 3 has 2 cells, but its header has 3"),
    ("init mixed.csv", "decimal commas (line 2: '1,5') and decimal points (line 3"),
    ("init header.csv", "header.csv has a header line and no results below it"),
    ("init good.csv --objective effcacy", "'effcacy': did you mean 'efficacy'?"),
    ("init good.csv --objective efficacy=mx", "'mx': did you mean 'max'?"),
    ("init good.csv --objective efficacy --objective efficacy=min", "was given twice"),
    ("init good.csv --log efficcy", "objective for --log 'efficcy': did you mean 'efficacy'?"),
    (
        "init below.csv --log efficacy",
        "below.csv line 3: 'efficacy' is -1, which has no logarithm",
    ),
    ("init good.csv --out none/d.toml", "cannot write none/d.toml"),
    ("init good.csv --out .", "cannot write .: it is a folder"),
    ("init none.csv", "cannot read the results none.csv: No such file"),
    ("study tell trial --csv case.csv", "line 3: unknown arm 'bnt half': did you mean"),
    ("study tell trial --csv mixed.csv", "decimal commas (line 2: '1,5') and decimal points"),
    ("study tell trial --csv holes.csv --skip-incomplete", "every line of 'holes.csv' has an"),
    ("study tell trial --csv good.csv --arm-column efficacy", "has a column 'arm' already"),
    ("study tell trial --arm A --skip-incomplete", "--skip-incomplete belongs to a file"),
    ("study tell trial --arm A --sheet May", "--sheet belongs to a file of results"),
]


def test_there_are_enough_of_them() -> None:
    assert len({command for command, _ in BAD}) == len(BAD) >= 25


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("store")
    (folder / "design.toml").write_text(DESIGN)
    study = Study.create(folder / "design.toml", f"sqlite:///{folder / 'psips.db'}")
    study.store.close()
    return (folder / "psips.db").read_bytes()


@pytest.mark.parametrize(("command", "sentence"), BAD)
def test_bad_files(folder: Path, run: Any, store: bytes, command: str, sentence: str) -> None:
    for name, content in FILES.items():
        data = book(content) if isinstance(content, list) else content
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    (folder / "design.toml").rename(folder / "kept.toml")  # init must not find its target
    if "design.toml" in command:
        command = command.replace("design.toml", "kept.toml", 1)
    (folder / "psips.db").write_bytes(store)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert err.startswith("psips: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
