"""``psips run``: parsing, what one run of a command shows, rounds, studies, what is printed."""

from __future__ import annotations

import json
import math
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import psips.commands.measuring as measuring_
from psips import InputError, Problem
from psips.cli import main
from psips.cli.run import joined
from psips.commands.concluding import found_by
from psips.commands.drawing import draw
from psips.commands.evidence import claims_of
from psips.commands.found import Estimate, Found, Row
from psips.commands.measuring import Measuring, NothingLeftError, Question
from psips.commands.metrics import Metric, read_metrics
from psips.commands.noise import FAR, distances, within_rounds
from psips.commands.options import make_options, read_parameters, read_values
from psips.commands.quantities import read_limit, written
from psips.commands.rounds import Sample, layers
from psips.commands.running import Ran, Runner, read_cores
from psips.commands.table import RATIO
from psips.commands.text import lines_of
from psips.commands.writing import as_csv
from psips.report.pull_request import run_comment
from psips.report.run import run_page
from psips.study import Study

linux = pytest.mark.skipif(sys.platform != "linux", reason="measured in two steps on Linux")
TIME, MEMORY = Metric("time", "time", log=True), Metric("memory", "memory", log=True)


def metrics_of(*given: str, **kinds: Any) -> list[Metric]:
    return read_metrics(given, [], kinds.get("ways", {}), kinds.get("log", ()), (), ())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `psips run` in this process; give its exit code, output and error output."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", "run", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return call


# One run


@linux
def test_time_and_exit_code() -> None:
    with Runner().at_work() as runner:
        slept = runner.run("sleep 0.1")
        assert 0.1 <= slept.time < 5.0
        assert slept.cpu < 0.08
        assert not slept.failure
        failed = runner.run("echo one; echo 'two words' >&2; exit 3")
    assert failed.code == 3
    assert failed.failure == "ended with exit code 3: two words"


@linux
@pytest.mark.parametrize("shell", ["sh", "none", "bash"])
def test_processor_time_of_children_counts(shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("no bash here")
    burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    with Runner(shell=shell).at_work() as runner:
        own = runner.run(f"sh -c '{burn}'")
        idle = runner.run("sleep 0.05")
    assert own.cpu > 10 * idle.cpu  # the child of a shell burnt it
    assert idle.cpu < idle.time / 2


@linux
def test_several_processes_at_once_add_up() -> None:
    burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    with Runner().at_work() as runner:
        one = min(runner.run(f"( {burn} )").cpu for _ in range(3))
        three = min(runner.run(f"( {burn} ) & ( {burn} ) & {burn}; wait").cpu for _ in range(3))
    assert 1.5 < three / one < 4.5  # and 1 if only the shell's own counted


@linux
def test_memory_is_that_of_the_command_and_not_of_this_process() -> None:
    mine = np.ones(40_000_000 // 8)  # 40 MB that a fork would hand on
    megabytes = 30
    with Runner().at_work() as runner:
        small = runner.run("true").memory
        large = runner.run(f"head -c {megabytes}000000 /dev/zero | tail -c {megabytes}000000")
    assert mine.sum() > 0
    assert small < 8e6
    assert megabytes * 1e6 < large.memory < (megabytes + 8) * 1e6  # tail keeps all it reads


@linux
def test_the_start_of_a_shell_does_not_count() -> None:
    with Runner().at_work() as runner:
        builtin = min(runner.run(":").time for _ in range(20))
        shell = min(runner.run("sh -c :").time for _ in range(20))
    assert builtin < shell / 2


@linux
def test_timeout_ends_all_processes() -> None:
    with Runner(timeout=1.0).at_work() as runner:
        begin = time.monotonic()
        ran = runner.run("sleep 30 | sleep 31; true")
        assert time.monotonic() - begin < 25.0
        assert ran.late
        assert ran.failure == "was ended by the timeout"
        assert not runner.run("true").late
    assert not _there("sleep 30")


@linux
def test_what_is_left_running_is_ended_and_counted() -> None:
    with Runner().at_work() as runner:
        begin = time.monotonic()
        ran = runner.run("sleep 32 & echo done", read=True)
        assert ran.output == "done\n"
        assert time.monotonic() - begin < 25.0
        assert runner.left_running == 1
        runner.run("sleep 0.01 & wait")
        assert runner.left_running == 1
    assert not _there("sleep 32")


def _there(command: str) -> bool:
    """Whether a process with this command line is alive."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_bytes().replace(b"\0", b" ").strip().decode() == command:
                return True
        except (OSError, UnicodeDecodeError):
            continue
    return False


def test_output_input_and_syntax_errors(tmp_path: Path) -> None:
    source = tmp_path / "in put"
    source.write_text("ünï 1\n")
    with Runner(input=source).at_work() as runner:
        assert runner.run("cat; echo \"it's\" 'q'", read=True).output == "ünï 1\nit's q\n"
        assert runner.run("cat <<A\nhere\nA\n", read=True).output == "here\n"
        assert runner.run("cat").output == ""
        broken = runner.run("if")
    assert broken.code != 0
    assert "yntax" in broken.last_line
    with Runner().at_work() as runner:
        assert runner.run("cat", read=True).output == ""  # nothing, and not a terminal


def test_signals_and_words_without_a_shell() -> None:
    with Runner(shell="none").at_work() as runner:
        killed = runner.run("sh -c 'kill -9 $$'")
        assert killed.code == -9
        assert killed.failure.startswith("was ended by signal 9")
        assert runner.run("printf '%s|%s' 'a b' $HOME", read=True).output == "a b|$HOME"
        with pytest.raises(InputError, match="close its quotes"):
            runner.run("echo 'a")
    with Runner(shell="bash -o pipefail").at_work() as runner:
        if shutil.which("bash"):
            assert runner.run("false | true").code == 1
    with pytest.raises(InputError, match="cannot start"), Runner("/no/shell").at_work() as r:
        r.run("true")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no cores to choose here")
def test_commands_are_kept_on_their_cores_and_this_process_gets_its_own_back() -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    with Runner(cores=read_cores(str(core))).at_work() as runner:
        said = runner.run("grep Cpus_allowed_list /proc/self/status", read=True).output
        assert os.sched_getaffinity(0) == (before - {core} or before)
    assert said.split()[1] == str(core)
    assert os.sched_getaffinity(0) == before
    with pytest.raises(InputError, match="the cores that may be used are"):
        read_cores("4096")


# What is given


def test_options_are_all_combinations() -> None:
    options = make_options(
        ["cc -{o} -j{n} {x}", "ld"], read_parameters(["o=O0,O2", "n=1..3"]), cleanup=["rm {o}"]
    )
    assert [one.name for one in options[:3]] == [f"cc -O0 -j{n} {{x}}" for n in (1, 2, 3)]
    assert len(options) == 7
    assert options[3].cleanup == "rm O2"
    assert options[6].cleanup == "rm {o}"  # has no such parameter
    assert joined(["-P", "o", "O0,O2", "--", "-P", "x", "1"]) == [
        *("-P", "o=O0,O2", "--", "-P", "x", "1")
    ]


def test_names_are_harmless() -> None:
    options = make_options(["printf '\x1b[2J'; true", "x" * 300, "echo\n\nb\u202e"])
    for one in options:
        assert one.name.isprintable()
        assert len(one.name) <= 200
    assert options[0].command == "printf '\x1b[2J'; true"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_options(["a"]), "nothing to compare"),
        (lambda: joined(["-P", "l", "gzip -{l} f"]), "-P l has a command for its values"),
        (lambda: make_options(["b", "a", "a"]), "commands 2 and 3 are the same, 'a': give it"),
        (lambda: make_options(["a", "a"], names=["x", "y"]), "commands 1 and 2 are the same"),
        (lambda: make_options(["a", "b"], names=["x", "x"]), "same name"),
        (lambda: make_options(["a", " "]), "empty"),
        (lambda: make_options(["a", "b"], names=["x"]), "once for each"),
        (lambda: make_options(["a", "b", "c"], prepare=["x", "y"]), "--prepare once, or once"),
        (lambda: make_options(["a", "b"], {"x": ["1"]}), "no command has the parameter 'x'"),
        (lambda: make_options(["a {x}", "b"], {"x": [str(n) for n in range(600)]}), "at most"),
        (lambda: read_parameters(["x"]), "a name and its values"),
        (lambda: read_parameters(["x=1", "x=2"]), "twice"),
        (lambda: read_parameters(["x=1,1"]), "same value twice"),
        (lambda: read_values("1..100000"), "at most"),
        (lambda: metrics_of("speed"), "a metric must be time, cpu"),
        (lambda: metrics_of("a=("), "cannot be read"),
        (lambda: metrics_of("time=x"), "measured anyway"),
        (lambda: metrics_of("time", "time"), "given twice"),
        (lambda: metrics_of("zzz=x"), "--max zzz"),
        (lambda: metrics_of("time", ways={"cpu": "max"}), "--max or --min"),
        (lambda: read_limit("time <= 3 parsecs", [TIME]), "unknown unit 'parsecs'"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_metrics() -> None:
    found = metrics_of("time", "size=o.{x}", "acc=accuracy (.*)%", "fps=json:a.1.b", "n=size:f")
    assert [m.source for m in found] == ["time", "size", "regex", "json", "size"]
    assert [m.direction for m in found] == ["min", "min", "max", "max", "min"]
    assert [m.exact for m in found] == [False, True, False, False, True]
    assert [m.log for m in found] == [True, True, False, False, True]
    ran = Ran(1.0, 1.0, 1.0, 0, output='x\naccuracy 7.5%\naccuracy 8%\n{"a": [0, {"b": 2}]}\n')
    assert found[2].value(ran, "a", str) == 8.0  # the last
    assert found[3].value(ran, "a", str) == 2.0


@pytest.mark.parametrize(
    ("metric", "output", "message"),
    [
        ("acc=acc (.*)", "no", "no output matches 'acc \\(\\.\\*\\)'; its last line is 'no'"),
        ("acc=acc (.*)", "", "it printed nothing"),
        ("acc=acc (.*)", "acc 1,5", "must be a number, got '1,5'"),
        ("fps=json:a.b", '{"a": {"c": 1}}', "has no 'b'.* there are 'c'"),
        ("fps=json:a", '{"a": "x"}', "is not a number"),
        ("fps=json:a", "hello", "is not JSON"),
        ("size=/no/such/file", "", "cannot read the size of '/no/such/file'"),
    ],
)
def test_values_that_are_not_there(metric: str, output: str, message: str) -> None:
    (one,) = metrics_of(metric)
    with pytest.raises(InputError, match=message):
        one.value(Ran(1.0, 1.0, 1.0, 0, output=output), "the option", str)


def test_limits_have_units() -> None:
    assert read_limit("memory <= 1.5 MiB", [MEMORY]) == f"memory <= {1.5 * 2**20!r}"
    assert read_limit("time between 5ms and 2min", [TIME]) == "time between 0.005 and 120.0"
    assert written(0.0005, "s") == "500 µs"
    assert written(1e9, "B") == "1 GB"


# Rounds


class Machine:
    """Instead of a `Runner`: times and memory by the law of a test, and no processes."""

    shell, timeout, left_running = "sh", None, 0

    def __init__(self, law: Any, seconds: float = 0.01) -> None:
        self.law, self.seconds, self.now, self.commands = law, seconds, 0.0, []

    @contextmanager
    def at_work(self) -> Any:
        yield self

    def run(self, command: str, read: bool | None = None) -> Ran:
        self.commands.append(command)
        self.now += self.seconds
        found = self.law(command, len(self.commands))
        return found if isinstance(found, Ran) else Ran(found, found, 1e6, 0)


def compare(
    law: Any,
    names: str = "abc",
    metrics: Any = (TIME,),
    study: Any = None,
    options: Any = None,
    **asked: Any,
) -> tuple[Measuring, Found]:
    machine = Machine(law)
    question = Question(**{"seed": 1, "time_limit": 30.0, **asked})
    chosen = options or make_options(list(names))
    measuring = Measuring(
        chosen, list(metrics), question, machine, study, clock=lambda: machine.now
    )
    measuring.go()
    return measuring, found_by(measuring)


MEANS = {"a": 1.0, "b": 1.2, "c": 1.5}


def noisy(sd: float, seed: int = 0, drift: Any = lambda n: 0.0) -> Any:
    random_ = np.random.default_rng(seed)
    return lambda name, n: MEANS[name] * math.exp(sd * random_.normal() + drift(n))


def test_the_fastest_is_found_and_rounds_are_interleaved() -> None:
    measuring, found = compare(noisy(0.05))
    assert found.stopped
    assert found.pareto_set == ("a",)
    by_round: dict[int, list[str]] = {}
    for one in measuring.known.samples:
        by_round.setdefault(one.round, []).append(one.option)
    assert all(len(set(names)) > 1 for names in by_round.values())
    assert len({tuple(names) for names in by_round.values()}) > 1  # in a random order
    assert sorted(by_round) == list(range(1, len(by_round) + 1))
    assert found.rows[0].ratio.value == 1.0
    for row in found.rows[1:]:
        assert row.ratio.low < MEANS[row.name] < row.ratio.high


def test_the_warmup_does_not_count() -> None:
    def law(name: str, n: int) -> float:
        return 100.0 if n <= 6 else MEANS[name] * (1.0 + 0.001 * (n % 7))

    measuring, _ = compare(law, warmup=2)
    assert max(one.values[0] for one in measuring.known.samples) < 2.0
    counted, _ = compare(lambda name, n: MEANS[name] * (1 + 0.01 * (n % 7)), warmup=0)
    machine = counted.runner
    assert len(machine.commands) == len(counted.known.samples)


def test_layers_have_something_to_compare() -> None:
    random_ = random.Random(3)
    for _ in range(200):
        asked = [random_.choice("aaab") for _ in range(6)] + ["c"]
        rounds = layers(asked)
        assert Counter(chain.from_iterable(rounds)) == Counter(asked)
        assert all(len(set(one)) > 1 for one in rounds)


def drifting(n: int) -> float:
    """A machine that is up to 3 times as slow, in waves of some 60 runs."""
    return 0.55 * math.sin(n / 10.0)


def test_drift_of_the_machine_cancels() -> None:
    calm = [compare(noisy(0.02, s), seed=s)[1].runs for s in range(4)]
    wavy = [compare(noisy(0.02, s, drifting), seed=s)[1] for s in range(4)]
    assert all(found.pareto_set == ("a",) for found in wavy)
    apart = [_without_rounds(noisy(0.02, s, drifting), s) for s in range(4)]
    within = sum(found.runs for found in wavy)
    assert within < 0.5 * sum(apart)  # as many as the same runs without their rounds would take
    assert within < 12 * sum(calm)


def _without_rounds(law: Any, seed: int) -> int:
    """Measure with a limit that all keep, for which runs are compared without their rounds."""
    _, found = compare(law, seed=seed, limits=["time <= 1h"])
    assert not any("Rounds differed" in note for note in found.notes)
    return found.runs


def test_a_near_tie_ends_by_the_tolerance_or_by_the_time() -> None:
    tied = {"a": 1.0, "b": 1.001, "c": 1.5}
    random_ = np.random.default_rng(4)

    def law(name: str, _: int) -> float:
        return tied[name] * math.exp(0.03 * random_.normal())

    _, tolerant = compare(law)
    assert tolerant.stopped
    assert "c" not in tolerant.pareto_set
    _, strict = compare(law, tolerance={"time": 0.0}, time_limit=2.0)
    assert not strict.stopped
    assert strict.pareto_set is None
    assert strict.ended == "time limit"
    assert "Undecided: " in strict.outlook
    assert "a and b" in strict.outlook or "b and a" in strict.outlook
    assert "more runs" in strict.outlook


def in_the_set(patience: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a command is in the set that is slower and needs the same memory."""
    monkeypatch.setattr(measuring_, "SMALLER_SET_GROWTH", patience)
    count = 0
    for seed in range(20):
        random_ = np.random.default_rng(seed)

        def law(name: str, _: int, random_: Any = random_) -> Ran:
            time_, memory = np.exp(random_.normal(0.0, (0.1, 0.03)))
            return Ran(MEANS[name] ** 2 * time_, 1.0, 1e6 * memory, 0)

        _, found = compare(law, names="ac", metrics=[TIME, MEMORY], seed=seed)
        assert found.stopped
        assert "a" in found.pareto_set
        count += "c" in found.pareto_set
        if found.pareto_set == ("a",):
            assert found.rows[1].note == "beaten by a"
    return count


def test_what_is_slower_and_needs_the_same_memory_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert in_the_set(measuring_.SMALLER_SET_GROWTH, monkeypatch) <= 3
    assert in_the_set(1.0, monkeypatch) >= 6  # as the default would


def test_exact_metrics_and_limits(tmp_path: Path) -> None:
    sizes = {"a": 300, "b": 200, "c": 100, "d": 400}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    options = make_options(["{n}"], {"n": list(sizes)})
    metrics = metrics_of("time", f"size={tmp_path}/{{n}}")
    random_ = np.random.default_rng(1)
    means = {**MEANS, "d": 0.5}

    def law(name: str, _: int) -> float:
        return means[name] * math.exp(0.03 * random_.normal())

    _, found = compare(law, metrics=metrics, options=options, limits=["size <= 0.35kB"])
    assert set(found.pareto_set) == {"a", "b", "c"}
    assert [(one.option, one.why) for one in found.out] == [
        ("d", "breaks the limit size <= 0.35kB")
    ]
    assert found.rows[-1].role == "out"
    assert {row.name: row.estimates["size"].value for row in found.rows[:-1]} == {
        name: sizes[name] for name in "abc"
    }


def test_a_size_that_varies_is_said(tmp_path: Path) -> None:
    file = tmp_path / "out"

    def law(name: str, n: int) -> float:
        file.write_bytes(b"x" * (100 + n % 5))
        return MEANS[name] * (1 + 0.01 * (n % 7))

    metrics = metrics_of("time", f"size={file}")
    with pytest.raises(InputError, match="varies from run to run, so say --noisy"):
        compare(law, metrics=metrics)
    noisy_ = read_metrics(["time", f"size={file}"], [], {}, [], [], ["size"])
    _, found = compare(law, metrics=noisy_, time_limit=1.0)
    assert found.runs > 20


def test_failures() -> None:
    def law(name: str, n: int) -> Any:
        if name == "c":
            return Ran(1.0, 1.0, 1.0, 7, last_line="it broke")
        return MEANS[name] * (1 + 0.01 * (n % 7))

    with pytest.raises(InputError, match="'c' ended with exit code 7: it broke; to leave out"):
        compare(law)
    measuring, found = compare(law, limits=["exit <= 0"])
    assert found.pareto_set == ("a",)
    assert found.out[0].why == "ended with exit code 7: it broke"
    assert Counter(measuring.runner.commands)["c"] == 1
    assert compare(law, limits=["exit <= 7"])[1].out == []
    with pytest.raises(NothingLeftError, match="'a' is the only option") as one:
        compare(law, names="ac", limits=["exit <= 0"])
    assert one.value.exit_code == 0
    with pytest.raises(InputError, match="must be like 'exit <= 0'"):
        compare(law, limits=["exit >= 1"])


def test_ctrl_c_in_the_first_run_claims_nothing() -> None:
    def law(name: str, n: int) -> Any:
        raise KeyboardInterrupt

    _, found = compare(law)
    assert not found.stopped
    assert found.pareto_set is None
    assert found.candidate_set == ()
    assert (found.ended, found.runs, found.rounds) == ("interrupted", 0, 0)
    assert [row.name for row in found.rows] == ["a", "b", "c"]


def test_an_option_that_fails_later_is_left_out_and_the_rest_goes_on() -> None:
    def law(name: str, n: int) -> Any:
        if name == "c" and n > 12:
            return Ran(1.0, 1.0, 1.0, 1)
        return MEANS[name] * (1 + 0.1 * ((n * 7919) % 13) / 13)

    measuring, found = compare(law, limits=["exit <= 0"])
    assert found.pareto_set == ("a",)
    assert [one.option for one in found.out] == ["c"]
    assert all(one.option != "c" for one in measuring.known.samples)
    assert len({one.round for one in measuring.known.samples}) > 4


def test_prepare_and_cleanup_are_run_around_each_run_and_not_measured() -> None:
    def law(command: str, n: int) -> float:
        return 50.0 if command in ("before", "after") else MEANS[command] * (1 + 0.01 * (n % 7))

    options = make_options(list("abc"), prepare=["before"], cleanup=["after"])
    measuring, found = compare(law, options=options, time_limit=60.0)
    commands = measuring.runner.commands
    assert found.pareto_set == ("a",)
    assert commands[::3] == ["before"] * (len(commands) // 3)
    assert commands[2::3] == ["after"] * (len(commands) // 3)
    assert max(one.values[0] for one in measuring.known.samples) < 2.0

    def broken(command: str, n: int) -> Any:
        return Ran(1, 1, 1, 4, last_line="no") if command == "before" else law(command, n)

    with pytest.raises(InputError, match="--prepare of option 'a' ended with exit code 4: no"):
        compare(broken, options=options)


def test_a_run_as_usual_is_not_far_because_the_others_of_its_round_are_slow() -> None:
    """The round's median is then that of the slow ones."""
    random_ = np.random.default_rng(7)
    problem = Problem(objectives={"time": "min"}, arms=list("abc"))
    samples = []
    for n in range(1, 21):
        for name in "abc":
            slow = 9.0 if n == 6 and name != "a" else 1.0
            samples.append(Sample(name, n, (slow * (1.0 + 0.01 * random_.normal()),)))
    known: Any = SimpleNamespace(problem=problem, samples=samples)
    away = distances(known)[:, 0]
    assert not (away[[one.option == "a" for one in samples]] > FAR).any()
    samples[3] = Sample("a", 2, (5.0,))
    assert distances(known)[3, 0] > FAR


def test_far_values_are_noticed_and_do_not_turn_the_answer() -> None:
    random_ = np.random.default_rng(5)

    def law(name: str, n: int) -> float:
        far = 8.0 if n % 11 == 10 else 1.0
        return far * MEANS[name] * math.exp(0.03 * random_.normal())

    _, found = compare(law, tolerance={"time": 0.0}, time_limit=60.0)
    assert found.pareto_set == ("a",)
    assert any("far from the rest" in note for note in found.notes)
    _, calm = compare(noisy(0.03, 6), tolerance={"time": 0.0})
    assert not any("far from the rest" in note for note in calm.notes)


def test_what_rounds_have_in_common_is_taken_out() -> None:
    measuring, _ = compare(noisy(0.02, 1, drifting))
    known = measuring.known
    arms = np.array([one.option for one in known.samples])
    raw = np.log(np.array([one.values for one in known.samples]))
    spread = [np.std(x[arms == "a"]) for x in (raw, within_rounds(known))]
    assert spread[1] < spread[0] / 3


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"delta": 1.5}, "delta"),
        ({"control": "z"}, "unknown answer 'z'"),
        ({"study": ("a/\x1b", "sqlite:///x.db")}, "study"),
        (
            {"metrics": (Metric("size", "size", "f", log=True, exact=True),)},
            "every metric is exact",
        ),
        (
            {"metrics": (Metric("n", "regex", "x"),), "tolerance": {"n": "2%"}},
            "name the control",
        ),
        ({"limits": ["time between 3s and 2s"]}, "leave no room"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_run(
    asked: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called: list[str] = []
    with pytest.raises(InputError, match=message):
        compare(lambda name, n: called.append(name) or 1.0, **asked)
    assert called == []


# Real commands, the command line


def test_one_that_sleeps_less_is_found(run: Any) -> None:
    said = run("sleep 0.01", "sleep 0.06", "-m", "time", "--time-limit", "4min", "--seed", "1")
    assert said[0] == 0
    assert "sleep 0.01 is the best in time (90% confidence)." in said[1]
    assert "Stopped by itself after" in said[1]
    assert max(map(len, said[1].splitlines())) <= 120
    assert said[2] == ""


def test_json_and_files(run: Any, tmp_path: Path) -> None:
    files = [tmp_path / f"x.{end}" for end in ("json", "csv", "md", "html")]
    out = tmp_path / "out"
    given = [word for file in files for word in ("--export", str(file))]
    code_, text, _ = run(
        *(f"printf 12345 > {out}; sleep 0.01", f"printf 1 > {out}; sleep 0.05"),
        *("-m", "time", "-m", f"size={out}", "--time-limit", "4min", "--json"),
        *("-n", "long | one", "-n", "=short", *given),
    )
    data = json.loads(text)
    assert code_ == 0
    assert data["stopped"]
    assert data["pareto_set"] == ["long | one", "=short"]
    assert [one["metrics"]["size"]["mean"] for one in data["options"]] == [5.0, 1.0]
    assert 0.01 <= data["options"][0]["metrics"]["time"]["low"] < 0.2  # seconds
    assert json.loads(files[0].read_text()) == data
    lines = files[1].read_text().splitlines()
    assert lines[0].startswith("option,command,Pareto set,runs,time,time low")
    assert lines[2].startswith("'=short,")
    assert "`long \\| one`" in files[2].read_text()
    assert "<pre>" in files[3].read_text()
    assert run("a", "b", "--export", str(files[0]))[0] == 2  # exists
    assert run("a", "b", "--export", str(tmp_path / "x.pdf"))[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("true", "ls /no/where"), "option 'ls /no/where' ended with exit code 2: "),
        (("true", "no-such-program x", "-S", "none"), "there is no program 'no-such-program'"),
        (("true", "true x", "--tolerance", "0.1"), "must be a percentage such as 2%"),
        (("true", "true x", "--tolerance", "speed=1%"), "unknown metric of --tolerance"),
        (("true", "true x", "--limit", "speed <= 1"), "unknown metric in a limit 'speed'"),
        (("true", "true x", "--input", "/no/file"), "cannot read the input"),
        (("true", "true x", "--format", "pdf"), "unknown --format 'pdf'"),
        (("true", "true x", "--time-limit", "soon"), "the time limit must be a duration"),
        (("true", "true x", "--max", "time", "--min", "time"), "--max and --min"),
        (("true", "printf '\x1b[2J\n' >&2; exit 1"), "exit code 1: \\x1b[2J"),
    ],
)
def test_one_sentence_and_code_2(run: Any, words: Any, message: str) -> None:
    code_, text, error = run(*words)
    assert code_ == 2
    assert text == ""
    assert message in error
    assert "\x1b" not in error
    assert len(error.splitlines()) == 1


def test_a_study_is_kept_and_gone_on_with(run: Any, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    means = {"a": 1.0, "b": 1.01, "c": 1.5}
    random_ = np.random.default_rng(9)

    def law(name: str, _: int) -> float:
        return means[name] * math.exp(0.05 * random_.normal())

    asked = {"tolerance": {"time": 0.0}, "study": ("cmd", store)}
    first, found = compare(law, time_limit=0.6, **asked)
    assert not found.stopped
    again, more = compare(law, time_limit=1.0, **asked)
    assert again.before == len(first.known.samples) > 10
    assert again.known.samples[: again.before] == first.known.samples
    assert more.runs == len(again.known.samples) - again.before > 10
    assert again.known.samples[again.before].round == first.known.round + 1
    opened = Study.open("cmd", store)
    assert opened.results == len(again.known.samples)
    assert opened.verify().problems == ()
    with pytest.raises(InputError, match="other options, 'a', 'b', 'c'"):
        compare(law, names="ab", **asked)
    with pytest.raises(InputError, match="other tolerances"):
        compare(law, tolerance={"time": "5%"}, study=("cmd", store))
    with pytest.raises(InputError, match="registered with delta"):
        compare(law, delta=0.2, **asked)


def test_a_study_that_has_stopped_says_so_at_once(tmp_path: Path) -> None:
    asked = {"study": ("cmd", f"sqlite:///{tmp_path / 's.db'}")}
    _, found = compare(noisy(0.05), **asked)
    _, again = compare(noisy(0.05), **asked)
    assert again.stopped
    assert again.pareto_set == found.pareto_set
    assert again.runs == 0
    assert again.before == found.runs


COMMAND = [sys.executable, "-c", "from psips.cli import command; command()", "run"]


@linux
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    mark = tmp_path / "runs"
    words = [f"echo >> {mark}; sleep 0.0321", f"echo >> {mark}; sleep 0.0322"]
    given = ["-m", "time", "--tolerance", "0", "--study", "cmd", "--store", store]
    started = subprocess.Popen(
        [*COMMAND, *words, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline and not (mark.exists() and mark.stat().st_size > 16):
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    text, error = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "Interrupted after" in text
    assert "Traceback" not in error
    assert Study.open("cmd", store).results >= 8
    assert not _there("sleep 0.0321")


def test_on_a_terminal_it_shows_how_it_goes() -> None:
    ours, theirs = pty.openpty()
    words = ["sleep 0.02", "sleep 0.04", "-m", "time", "--time-limit", "4min"]
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": ""}
    started = subprocess.Popen(
        [*COMMAND, *words], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:
            break
        if not more:
            break
        shown += more
    os.close(ours)
    assert started.wait(timeout=300) == 0
    text = shown.decode()
    assert "running: sleep 0.0" in text
    assert "of 4 min" in text
    assert text.index("running:") < text.index("is the best in time")


# What is printed


def a_found(names: Any = ("a", "b", "c"), **other: Any) -> Found:
    values = [(1.0, 300.0), (1.2, 200.0), (1.5, 250.0)]
    roles = ["front", "front", "beaten"]
    rows = [
        Row(
            *(name, name, role, 9),
            {
                "time": Estimate(t, t / 1.1, t * 1.1),
                "memory": Estimate(m, m, m),
            },
            *(0.99, "" if role == "front" else f"beaten by {names[1]}"),
        )
        for name, role, (t, m) in zip(names, roles, values, strict=True)
    ]
    given: dict[str, Any] = {
        "stopped": True,
        "pareto_set": tuple(names[:2]),
        "candidate_set": tuple(names[:2]),
        "rows": rows,
        "metrics": [TIME, MEMORY],
        "confidence": 0.9,
        "promise": "90% confidence",
        "tolerance": "2% on time, 2% on memory",
        "runs": 27,
        "rounds": 9,
        "seconds": 12.0,
        "more_runs": None,
        "ended": "known",
        "open_text": "",
        "notes": ["A note."],
        "out": [],
        "seed": 1,
    }
    return Found(**{**given, **other})


def test_the_front_is_drawn() -> None:
    lines = draw(a_found(), 60)
    marks = {
        m: (y, x) for y, line in enumerate(lines) for x, m in enumerate(line) if m in "ABC"
    }
    assert marks["A"][0] < marks["C"][0] < marks["B"][0]  # memory falls downwards
    assert marks["A"][1] < marks["B"][1] < marks["C"][1]  # time grows to the right
    assert any("·" in line for line in lines)
    assert max(map(len, lines)) <= 60
    assert draw(a_found(), 20) == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_is_printed_fits(width: int) -> None:
    names = tuple(f"./program --{word} " + "x" * 60 for word in ("one", "two", "three"))
    for found in (a_found(), a_found(names), a_found(names, stopped=False, pareto_set=None)):
        lines = lines_of(found, width)
        assert max(len(line.text) for line in lines) <= width
        assert all(line.text.isprintable() for line in lines)


def test_ratios_stand_next_to_the_metric_that_they_are_of() -> None:
    rows = [replace(row, ratio=Estimate(1.0, 0.9, 1.1)) for row in a_found().rows]
    head = lines_of(a_found(rows=rows), 120)
    line = next(one.text for one in head if "memory" in one.text and "runs" in one.text)
    assert line.index("time") < line.index(RATIO) < line.index("memory") < line.index("runs")
    assert line.count(RATIO) == 1


def test_verdicts() -> None:
    assert a_found().verdict == (
        "a and b are Pareto-optimal in time and memory (90% confidence); 1 is beaten."
    )
    one = a_found(pareto_set=("a",), candidate_set=("a",))
    assert one.verdict == "a is the best in time and memory at once (90% confidence)."
    still = a_found(
        stopped=False, pareto_set=None, ended="time limit", open_text="Undecided: a."
    )
    assert still.verdict.startswith("Not known yet: so far a and b are ahead")
    soon = a_found(stopped=False, more_runs=(9.0, 27.0, math.inf), open_text="Undecided: a.")
    assert soon.outlook == (
        "Undecided: a. About 27 more runs (12 s; 4 s to much more in four cases of five) "
        "would settle it."
    )


def test_a_comment_is_harmless_and_claims_nothing_before_the_stop() -> None:
    names = ("a|b <img src=x>", "`c` @all", "x")
    text = run_comment(a_found(names))
    rest = text.replace("`a\\|b <img src=x>`", "").replace("`` `c` @all ``", "")
    drawn = rest.index("```text")
    assert not re.findall(r"(?<!\\)<img|@(?!&#8203;)", rest[:drawn])
    assert text.startswith(
        "> [!TIP]\n> **Pareto set: `a\\|b <img src=x>`, `` `c` @all ``** (90% "
    )
    assert text.count("<details>") == text.count("</details>") == 1
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {rows[0].count("|")}
    still = run_comment(a_found(stopped=False, pareto_set=None, open_text="Undecided: a."))
    assert still.startswith("> [!NOTE]\n> **Not known yet.** Ahead so far: `a`, `b` (time")
    assert "Pareto set:" not in still
    assert "Undecided: a." in still.split("<details>")[0]


def test_a_file_of_markdown_is_the_comment(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "found.md"
    words = ["sleep 0.001", "sleep 0.1", "-m", "time", "--format", "github"]
    code, said, _ = run(*words, "--export", str(path))
    assert code == 0
    assert path.read_text() == said
    assert "| `sleep 0.1` |" in said


def test_a_page_and_a_table_for_spreadsheets() -> None:
    names = ("<script>x</script>", "=1+1", "c")
    page = run_page(a_found(names))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "'=1+1" in as_csv(a_found(names))


def test_evidence_for_each_option_is_that_of_the_stop() -> None:
    close, random_ = {"a": 1.0, "b": 1.03, "c": 1.5}, np.random.default_rng(2)

    def law(name: str, _: int) -> float:
        return close[name] * math.exp(0.08 * random_.normal())

    measuring, found = compare(law, tolerance={"time": 0.0})
    session = measuring.known.session
    claims = {one.option: one for one in claims_of(session)}
    assert {name for name, one in claims.items() if one.inside} == {"a"}
    assert claims["b"].rival == "a"
    assert claims["c"].evidence > claims["b"].evidence
    least = min(one.evidence for one in claims.values())
    stop = session.status().evidence["evidence"]
    assert 0.8 * stop < least < 1.6 * stop  # which counts that the noise is estimated
    assert found.stopped


def test_an_exact_metric_decides_without_doubt(tmp_path: Path) -> None:
    for name, size in (("a", 300), ("b", 100), ("c", 310)):
        (tmp_path / name).write_bytes(b"x" * size)
    options = make_options(["{n}"], {"n": list("abc")})
    metrics = metrics_of("time", f"size={tmp_path}/{{n}}")
    measuring, _ = compare(noisy(0.03), metrics=metrics, options=options)
    claims = {one.option: one for one in claims_of(measuring.known.session)}
    assert claims["b"].evidence == math.inf  # the smallest by far
    assert claims["c"].rival in ("a", "b")
    assert claims["c"].evidence < math.inf
