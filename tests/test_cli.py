"""The command line: what it prints, where, and how it refuses."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import psips
from psips.cli import app, main
from psips.rules import CALIBRATION, DRAWS, SAMPLING, STOPPING, TRACKING
from psips.version import build_version

COMMAND = [
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'psips'; from psips.cli import main; main()",
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command in this process; give its exit code, output and error output."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        written = capsys.readouterr()
        return (code if isinstance(code, int) else 0), written.out, written.err

    return call


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    (tmp_path / "means.csv").write_text("arm,yield,cost\nA,5,2\nB,4,1\nC,4.5,2.5\nD,6,3\n")
    file = tmp_path / "trial.toml"
    file.write_text(
        'name = "line settings"\narms = ["A", "B", "C", "D"]\ntruth = "means.csv"\n'
        "delta = 0.05\nseed = 7\n"
        '[[objectives]]\nname = "yield"\nvariance = 1.0\n'
        '[[objectives]]\nname = "cost"\ndirection = "min"\nvariance = 0.25\n'
        '[rules]\nsampling = "posterior"\n'
    )
    return file


def test_version(run: Any) -> None:
    assert run("--version") == (0, f"{build_version()}\n", "")
    assert build_version().startswith(psips.__version__)


def test_help_names_every_rule(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    code, out, _ = run("simulate", "--help")
    assert code == 0
    for table in (SAMPLING, STOPPING, CALIBRATION, DRAWS, TRACKING):
        for name in table:
            assert name in out


def pages() -> list[list[str]]:
    """The words of every command that has a help page."""
    group: Any = typer.main.get_command(app)
    single = [[name] for name, command in group.commands.items() if not command.hidden]
    within = [[of, name] for of in ("study", "lab") for name in group.commands[of].commands]
    return [[], *single, *within]


@pytest.mark.parametrize("words", pages(), ids=" ".join)
def test_help_of_every_command(run: Any, words: list[str]) -> None:
    code, page, _ = run(*words, "--help")
    assert code == 0
    assert run(*words, "-h") == (0, page, "")
    assert page.startswith("Usage: psips")
    _, examples = page.split("Examples:\n")
    lines = [line for line in examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        assert line.startswith(f"    psips {' '.join(words)}".rstrip()), line


GROUPS = [["study"], ["lab"], ["serve", "token"]]


@pytest.mark.parametrize("words", [[], ["serve"], *GROUPS], ids=" ".join)
def test_what_a_command_does_is_not_cut_off_in_the_list(
    run: Any, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = run(*words, "--help")[1].split("Commands:\n")[1].split("\n\n")[0]
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_a_group_without_a_command_shows_its_help(run: Any, words: list[str]) -> None:
    _, out, err = run(*words)
    assert f"Usage: psips {' '.join(words)} [OPTIONS] COMMAND" in out + err


def texts(command: Any) -> list[str]:
    return [param.help for param in command.params if getattr(param, "help", None)]


@pytest.mark.parametrize("words", pages(), ids=" ".join)
def test_help_loses_nothing_to_markup(
    run: Any, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    page = " ".join(run(*words, "--help")[1].split())
    for text in texts(command):
        assert " ".join(text.split()) in page
    if words == ["plan"]:
        assert "with a table [guess]" in page


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "psips", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{build_version()}\n"
    done = subprocess.run([sys.executable, "-m", "psips"], capture_output=True, text=True)
    assert "Usage: psips [OPTIONS] COMMAND" in done.stdout + done.stderr


def test_completion() -> None:
    environment = {
        **os.environ,
        "_PSIPS_COMPLETE": "complete_bash",
        "COMP_WORDS": "psips study cr",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["create"]


def test_instances(run: Any) -> None:
    code, out, err = run("instances")
    assert (code, err) == (0, "")
    for entry in psips.instances.instances():
        assert entry.name in out
    code, out, err = run("instances", "--json")
    assert [entry["name"] for entry in json.loads(out)["instances"]] == [
        entry.name for entry in psips.instances.instances()
    ]


KEYS = {
    *("runs", "stopped", "errors", "mean_samples", "median_samples", "sd_samples"),
    *("mean_pulls", "seconds", "us_per_round", "proposals_per_round", "settings"),
}


def test_simulate_json(run: Any) -> None:
    command = ["simulate", "correlated", "--rho", "0.5", "--delta", "0.01", "--runs", "20"]
    code, out, err = run(*command, "--seed", "3", "--max-samples", "4000", "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)
    assert set(figures) >= KEYS
    assert figures["runs"] == 20
    assert figures["settings"]["params"] == {"rho": 0.5}
    assert figures["settings"]["seed"] == 3
    assert figures["settings"]["max_samples"] == 4000
    assert figures["settings"]["version"] == psips.__version__
    assert figures["settings"]["rules"] == psips.Rules(delta=0.01).to_dict()
    assert set(figures["mean_pulls"]) == {f"arm {i}" for i in range(1, 6)}
    summary = psips.simulate_many(
        psips.instance("correlated", rho=0.5), runs=20, seed=3, max_results=4000, delta=0.01
    )
    expected = summary.to_dict()
    for key in KEYS - {"seconds", "us_per_round"}:
        assert figures[key] == expected[key], key
    _, again, _ = run(*command, "--seed", "3", "--max-samples", "4000", "--jobs", "2", "--json")
    assert json.loads(again)["mean_pulls"] == figures["mean_pulls"]


def test_simulate_every_option(run: Any) -> None:
    command = (
        "simulate random-gaussian --k 4 --d 3 --max-complexity 300 --instance-seed 2 --runs 2"
    )
    rules = "--sampling posterior --stopping posterior --calibration sharp --draws literal"
    more = "--tracking mixture --tuning eta=estimate --tuning alpha=0.4 --kappa 2"
    more += " --max-samples 50 --json"
    code, out, _ = run(*command.split(), *rules.split(), *more.split())
    assert code == 0
    settings = json.loads(out)["settings"]
    assert settings["params"] == {"K": 4, "d": 3, "max_complexity": 300.0, "seed": 2}
    assert settings["rules"] == {
        "delta": 0.1,
        "sampling": "posterior",
        "stopping": "posterior",
        "calibration": "sharp",
        "draws": "literal",
        "tracking": "mixture",
        "eta": "estimate",
        "alpha": 0.4,
        "kappa": 2.0,
    }


@pytest.mark.parametrize(
    "command",
    ["near-tie --gap 0.5 --d 2", "--gap 0.5 near-tie --d=2", "--d 2 near-tie --gap=0.5"],
)
def test_parameters_of_an_instance_are_options(run: Any, command: str) -> None:
    code, out, err = run("simulate", *command.split(), "--runs", "2", "--json")
    assert (code, err) == (0, "")
    settings = json.loads(out)["settings"]
    assert settings["instance"] == "near-tie"
    assert settings["params"] == {"gap": 0.5, "d": 2, "lead": 2.0, "rho": 0.0, "hopeless": 0}


@pytest.mark.parametrize("entry", psips.instances.instances(), ids=lambda entry: entry.name)
def test_every_parameter_of_every_instance_is_an_option(run: Any, entry: Any) -> None:
    from psips.cli.instance_options import command_of

    command = command_of(entry.name, entry.params).split()[1:]
    code, out, err = run(*command, "--runs", "1", "--max-samples", "2", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["settings"]["params"] == entry.params


def test_simulate_for_people(run: Any) -> None:
    code, out, err = run("simulate", "correlated", "--runs", "5")
    assert (code, err) == (0, "")
    for text in ("5 of 5 runs", "mean samples", "time a round", "arm 4", "95% interval"):
        assert text in out
    _, out, _ = run("simulate", "noc-transductive", "--runs", "1", "--max-samples", "20")
    assert "0 of 1 runs" in out
    assert "optimal answers that are not arms" in out


@pytest.mark.parametrize("stopping", STOPPING)
def test_a_calibration_is_shown_where_there_is_one(run: Any, stopping: str) -> None:
    sampling = STOPPING[stopping].partner or "directed"
    rules = ["--stopping", stopping, "--sampling", sampling]
    rules += ["--budget", "40"] if SAMPLING[sampling].budgeted else []
    made = "dose-finding" if stopping == "two-stage" else "correlated"
    code, out, _ = run("simulate", made, "--runs", "1", "--max-samples", "20", *rules)
    assert code == 0
    assert ("calibration" in out) == (stopping in ("posterior", "glr"))


def test_simulate_a_file(run: Any, trial: Path) -> None:
    code, out, _ = run("simulate", str(trial), "--runs", "3", "--json")
    assert code == 0
    settings = json.loads(out)["settings"]
    assert settings["params"] == {"file": str(trial)}
    assert (settings["rules"]["delta"], settings["seed"]) == (0.05, 7)
    assert settings["rules"]["sampling"] == "posterior"
    _, out, _ = run(
        *("simulate", str(trial), "--runs", "3", "--json"),
        *("--delta", "0.2", "--seed", "1", "--sampling", "projected"),
    )
    settings = json.loads(out)["settings"]
    assert (settings["rules"]["delta"], settings["seed"]) == (0.2, 1)
    assert settings["rules"]["sampling"] == "projected"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("simulate cov-bost", "did you mean 'cov-boost'?"),
        ("simulate nowhere.toml", "cannot read the problem file nowhere.toml: No such file"),
        ("simulate correlated --delta 2", "expected a number between 0 and 1, got 2.0"),
        ("simulate correlated --rho 1", "rho must lie strictly between -1 and 1"),
        ("simulate cov-boost --rho 0", "instance 'cov-boost' has no parameters, got 'rho'"),
        ("simulate worse --d 4 --rho -0.4", "strictly between -0.3333 and 1, got -0.4"),
        ("simulate near-tie --gap 0", "gap must not be 0"),
        ("simulate near-tie --gap x", "--gap must be a number, got 'x'"),
        ("simulate worse --d 2.5", "--d must be a whole number, got '2.5'"),
        ("simulate near-tie --gap", "option '--gap' needs a value"),
        ("simulate near-tie --gap --d 2", "option '--gap' needs a value"),
        (
            "simulate near-tie --gpa 1",
            "unknown option of 'near-tie' '--gpa': did you mean '--gap'?",
        ),
        ("simulate near-tie --sede 1", "did you mean '--seed'?"),
        ("simulate near-tie --k 3", "unknown option of 'near-tie' '--k'"),
        ("simulate near-tie worse", "expected one instance, got 'near-tie' and 'worse'"),
        ("simulate --gap 0.1", "expected one instance, got none"),
        ("complexity front --gap 0", "gap must be positive, got 0.0"),
        (
            "lab calibrate --group wors",
            "unknown group of families 'wors': did you mean 'worse'?",
        ),
        ("lab calibrate --add", "--add belongs to a search: give --adversarial as well"),
        (
            "lab calibrate --adversarial --tries 0",
            "tries of the search must be at least 1, got 0",
        ),
        ("simulate correlated --sampling projcted", "did you mean 'projected'?"),
        (
            "simulate correlated --tuning eta=much",
            "expected a positive number or 'estimate', got 'much'",
        ),
        ("simulate correlated --runs 0", "runs must be a whole number of at least 1, got 0"),
        ("simulate correlated --jobs 0", "jobs must be a whole number of at least 1, got 0"),
        ("simulate correlated --seed -1", "seed must be a whole number of at least 0, got -1"),
        ("simulate correlated --max-samples 0", "--max-samples must be at least 1, got 0"),
        (
            "simulate noc --stopping posterior --calibration proven",
            "no proof of the posterior stopping rule is known",
        ),
        ("demo --delta 0", "expected a number between 0 and 1, got 0.0"),
        ("lab calibrate --rule baies", "unknown rule 'baies': did you mean 'bayes'?"),
        ("lab calibrate --family randm", "unknown family 'randm': did you mean 'random'?"),
        ("lab calibrate --max-samples 0", "--max-samples must be at least 1, got 0"),
        (
            "lab calibrate --rule bayes --family linear --delta 2",
            "expected a number between 0 and 1, got 2.0",
        ),
        (
            "lab calibrate --rule bayes --family linear --jobs 0",
            "jobs must be a whole number of at least 1, got 0",
        ),
        ("lab calibrate --rule baye --runs 1 --out no/c.csv", "there is no folder 'no'"),
        (
            "lab calibrate --rule bayes --out d.md",
            "--out 'd.md': expected a name ending in .csv",
        ),
        (
            "lab calibrate --rule 'posterior proven' --family linear",
            "nothing was measured: none of these rules has a proof for these families",
        ),
        ("demo --seed -1", "a whole number of at least 0"),
    ],
)
def test_bad_input_is_one_sentence(run: Any, command: str, message: str) -> None:
    code, out, err = run(*shlex.split(command))
    assert code == 2
    assert out == ""
    assert err.startswith("psips: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_calibration_is_shown_and_added_to(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    command = (
        "lab",
        "calibrate",
        "--runs",
        "3",
        "--delta",
        "0.1",
        "--rule",
        "bayes",
        "--out",
        file,
    )
    for family, runs in (("rho = -0.9", 3), ("rho = 0.9", 6)):
        code, out, err = run(*map(str, command), "--family", family)
        assert (code, err) == (0, "")
        assert out.splitlines()[2].split()[:3] == ["bayes", "0.1", str(runs)]
        assert f"written: {file}, {file.with_suffix('.md')}" in out.replace("\n", "")
    assert len(file.read_text().splitlines()) == 3
    assert "| bayes | 2 | 6 |" in file.with_suffix(".md").read_text()


def test_commands_of_the_lab_keep_their_former_names(run: Any) -> None:
    code, out, err = run("lab", "reproduce", "--list")
    assert (code, err) == (0, "")
    known = "psips: `psips reproduce` is now `psips lab reproduce`\n"
    assert run("reproduce", "--list") == (0, out, known)
    assert "reproduce" not in run("--help")[1]


def test_a_group_of_families_can_be_measured(run: Any, tmp_path: Path) -> None:
    command = (
        "lab",
        "calibrate",
        "--runs",
        "1",
        "--delta",
        "0.1",
        "--rule",
        "bayes",
        "--group",
        "fronts",
    )
    file = tmp_path / "c.csv"
    code, _, err = run(*command, "--max-samples", "20", "--out", str(file))
    assert (code, err) == (0, "")
    lines = file.read_text().splitlines()[1:]
    assert len(lines) > 2
    assert all(line.split(",")[1].startswith("front ") for line in lines)


def test_a_search_shows_how_to_make_what_it_found_and_adds_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psips.lab.calibration import found

    file = tmp_path / "found.json"
    monkeypatch.setattr(found, "found_path", lambda: file)
    command = (
        "lab",
        "calibrate",
        "--adversarial",
        "--rule",
        "bayes",
        "--tries",
        "4",
        "--seed",
        "2",
    )
    monkeypatch.setenv("COLUMNS", "300")
    code, out, err = run(*command, "--runs", "60", "--max-samples", "3000", "--add")
    assert (code, err) == (0, "")
    broken = [line for line in out.splitlines() if " breaks " in line]
    assert broken
    kept = found.read_found(file)
    assert len(kept) == len(broken)
    assert f"{len(kept)} new in " in out
    assert f"psips simulate {kept[0].instance} --" in broken[0]


def test_a_calibration_leaves_the_files_of_others(run: Any, tmp_path: Path) -> None:
    notes = tmp_path / "c.md"
    notes.write_text("mine")
    command = (
        "lab",
        "calibrate",
        "--runs",
        "1",
        "--rule",
        "bayes",
        "--family",
        "rho = 0.9",
        "--out",
    )
    code, out, err = run(*command, str(tmp_path / "c.csv"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "c.md' would be overwritten" in err
    assert [path.name for path in tmp_path.iterdir()] == ["c.md"]
    assert notes.read_text() == "mine"


def test_a_longer_calibration_is_kept(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    command = ("lab", "calibrate", "--delta", "0.1", "--rule", "bayes", "--out", str(file))

    def runs_and_caps() -> list[list[str]]:
        return [line.split(",")[3::8] for line in file.read_text().splitlines()[1:]]

    def measured(*more: str) -> str:
        code, out, err = run(*command, *more)
        assert (code, err) == (0, "")
        return str(out).replace("\n", "")

    one = ("--family", "rho = 0.9")
    note = "1 of the cells asked for is kept as on file"
    assert "kept" not in measured(*one, "--runs", "4")
    page = file.with_suffix(".md")
    page.write_text("an old page")
    assert note in measured(*one, "--runs", "2")
    assert "| bayes | 1 | 4 |" in page.read_text()
    both = measured(*one, "--family", "rho = -0.9", "--runs", "4")
    assert note in both
    assert runs_and_caps() == [["4", "3000000"]] * 2
    assert "kept" not in measured(*one, "--runs", "4", "--max-samples", "9000")
    assert "kept" not in measured(*one, "--runs", "2", "--again")
    assert runs_and_caps() == [["4", "3000000"], ["2", "3000000"]]


def test_a_damaged_calibration_is_refused_before_measuring(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psips.lab.calibration import measuring as calibration

    file = tmp_path / "c.csv"
    command = (
        "lab",
        "calibrate",
        "--runs",
        "1",
        "--rule",
        "bayes",
        "--family",
        "rho = 0.9",
        "--out",
    )
    assert run(*command, str(file))[0] == 0
    whole = file.read_text()
    monkeypatch.setattr(calibration, "simulate_many", None)  # nothing may be measured
    for damaged in (whole[:-9], whole.replace("rho = 0.9", "rho"), whole.replace("bay", "by")):
        file.write_text(damaged)
        code, out, err = run(*command, str(file))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "c.csv', line " in err


@pytest.mark.parametrize(
    "command", ["simulate", "simulate correlated --delta small", "demo --sede 1", "dmeo"]
)
def test_bad_usage(run: Any, command: str) -> None:
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert "Usage: psips" in err


def test_a_file_without_truth(run: Any, trial: Path) -> None:
    trial.write_text(trial.read_text().replace('truth = "means.csv"\n', ""))
    code, _, err = run("simulate", str(trial))
    assert code == 2
    assert "trial.toml has no truth, so it cannot be simulated" in err


def test_demo(run: Any) -> None:
    code, out, err = run("demo", "--seed", "3")
    assert (code, err) == (0, "")
    assert "ChAd/ChAd m1273" in out
    assert "psips stopped after" in out
    assert "Measuring all boosters equally often" in out
    assert out.count("optimal") >= 4
    figures = [
        line for line in run("demo", "--seed", "3")[1].splitlines() if " s in all" not in line
    ]
    assert figures == [line for line in out.splitlines() if " s in all" not in line]


def test_silence_in_a_pipe() -> None:
    for _ in range(2):  # the first may have something to compile, and says so
        done = subprocess.run(
            [*COMMAND, "simulate", "correlated", "--runs", "3", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stderr == ""
    assert json.loads(done.stdout)["runs"] == 3


def on_terminal(*arguments: str) -> str:
    """Error output of a command whose error output is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux reports the end
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def test_nothing_is_said_of_compiling_if_nothing_is_compiled() -> None:
    on_terminal("simulate", "correlated", "--runs", "1", "--max-samples", "20")
    said = on_terminal("simulate", "correlated", "--runs", "1", "--max-samples", "20")
    assert "loading" in said
    assert "compil" not in said


def test_progress_on_a_terminal() -> None:
    assert "candidate set: " in on_terminal("demo")
    assert "3/3" in on_terminal("simulate", "correlated", "--runs", "3")


def test_simulate_says_what_alpha_may_mean(run: Any) -> None:
    code, _, err = run("simulate", "near-tie", "--alpha", "0.05")
    assert code == 2
    assert "--alpha 0.05: give --delta 0.05" in " ".join(err.split())
    command = ("simulate", "near-tie", "--runs", "1", "--max-samples", "5", "--json")
    code, out, _ = run(*command, "--confidence", "0.95")
    assert (code, json.loads(out)["settings"]["rules"]["delta"]) == (0, 0.05)


def test_a_word_that_is_no_choice_is_refused_without_the_checker_s_own_name(run: Any) -> None:
    code, _, said = run("matrix", "scores.csv", "--of", "those")
    assert code == 2
    assert "Invalid value for '--of': 'those' is not one of 'like-these', 'these'." in said
