"""What every command and every key of a file refuses: one sentence, code 2, nothing changed."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from psips.cli import app, main
from psips.errors import InputError
from psips.problem import Problem, problem_file
from psips.study import Study
from test_cli_study import BAD

HUGE = "1" + "0" * 400  # no float holds it
DIGITS = "9" * 5000  # more than Python reads in decimals
HEX = "0x" + "f" * 5000
DEEP = "[" * 5000 + "]" * 5000

KEYS = {
    "name": 'name = "new"',
    "arms": 'arms = ["A", "B"]',
    "objectives": 'objectives = ["x", "y"]',
    "covariance": "covariance = [1.0, 2.0]",
    "truth": "truth = {A = [1, 2], B = [3, 4]}",
}
LINEAR = {**KEYS, "arms": 'arms = "arms.csv"', "truth": ""}


def toml(base: dict[str, str], **lines: str) -> str:
    """A problem file with some of its lines replaced."""
    return "\n".join({**base, **lines}.values()) + "\n"


def own(**lines: str) -> str:
    """The same, for objectives with a variance of their own."""
    return toml(KEYS, covariance="", **lines)


# A change of a file, and what is said about it.
FILES: list[tuple[str, str]] = [
    (toml(KEYS, more="costs = 3"), "costs must be a mapping from arm to number, or one number"),
    (toml(KEYS, more="epsilon = -1"), "must be at least 0 and finite, got -1"),
    (toml(KEYS, more='epsilon = "5%"'), "is a part of a control's value: name the control"),
    (
        toml(KEYS, covariance="", more="items = 0.5"),
        "'items' must be true, how many items there are, a list of items or a CSV file, got",
    ),
    (
        toml(KEYS, covariance="", more="blocks = 0.5"),
        "must be true, how many items there are, a list of items or a CSV file, got",
    ),
    (toml(KEYS, more='limits = ["nothing <= 1"]'), "unknown metric in a limit 'nothing'"),
    (toml(KEYS, more='of = "those"'), "those"),
    (toml(KEYS, more="limits = 3"), "limits must be a list of texts such as"),
    (toml(KEYS, more="control = 4"), "'control' must be a string, got 4"),
    (toml(KEYS, more='budget = "x"'), "'budget' must be a number, got 'x'"),
    (toml(KEYS, more='goal = "nothing"'), "the goal must be 'N optimal', 'settle NAME' or"),
    (toml(KEYS, more="noise_guess = 3"), "'noise_guess' must be a table, got 3"),
    (toml(KEYS, more='partial = "yes"'), "partial must be True or False, got 'yes'"),
    (
        toml(KEYS, arms='arms = [["A", "B"], "C"]'),
        "arm number 1 must be a name, got ['A', 'B']",
    ),
    (toml(KEYS, arms="arms = [true, false]"), "arm number 1 must be a name, got True"),
    (toml(KEYS, arms='arms = [{name = "A"}, "B"]'), "arm number 1 must be a name, got {'name'"),
    (toml(KEYS, arms="arms = true"), "'arms' must be a list of names, their number or"),
    (toml(KEYS, arms="arms = 2.5"), "'arms' must be a list of names, their number or"),
    (toml(KEYS, arms="arms = 999999999999"), "999999999999 arms: the limit is 100,000"),
    (toml(KEYS, arms=f"arms = {HEX}"), "a whole number of about 6,021 digits"),
    (toml(KEYS, arms="arms = 1"), "at least two arms"),
    (toml(KEYS, arms="arms = -3"), "at least two arms"),
    (toml(KEYS, arms="arms = []"), "at least two arms"),
    (toml(KEYS, arms='arms = ["A", " A"]'), "arm number 2 has spaces around its name ' A'"),
    (toml(KEYS, arms='arms = ["A", "A\\u200B"]'), "an invisible character (U+200B)"),
    (toml(KEYS, arms='arms = ["A", "A\\u202EB"]'), "an invisible character (U+202E)"),
    (toml(KEYS, arms='arms = ["A", "B\\tC"]'), "a control character (U+0009)"),
    (toml(KEYS, arms='arms = ["A", "B\\nC"]'), "a control character (U+000A)"),
    (toml(KEYS, arms='arms = ["A", "B\\u0000"]'), "a control character (U+0000)"),
    (toml(KEYS, arms='arms = ["A", "B\\u001b[1m"]'), "a control character (U+001B)"),
    (
        toml(KEYS, arms='arms = ["caf\\u00e9", "cafe\\u0301"]'),
        "accents are characters of their own",
    ),
    (toml(KEYS, arms='arms = ["A", ""]'), "arm number 2 has an empty name"),
    (toml(KEYS, arms='arms = ["A", "A"]'), "duplicate arm 'A' (positions 1 and 2)"),
    (toml(KEYS, arms='arms = ["A B", "A  B"]'), "arms 1 and 2 look alike"),
    (toml(KEYS, arms=f'arms = ["A", "{"x" * 300}"]'), "a name of 300 characters"),
    (toml(KEYS, arms='arms = "a\\u0000.csv"'), "cannot read the table"),
    (toml(KEYS, arms='arms = "/dev/zero"'), "is too large: at most 100 MB are read"),
    (toml(KEYS, arms='arms = "bad.csv"'), "bad.csv is not in UTF-8: byte 5 cannot be read"),
    (toml(LINEAR, arms='arms = "arabic.csv"'), "line 2, column 'u', must be a number"),
    (toml(LINEAR, arms='arms = "comma.csv"'), "must be a number, got '1,5': write 1.5"),
    (toml(LINEAR, arms='arms = "under.csv"'), "must be a number, got '1_0'"),
    (
        toml(KEYS, objectives='objectives = [["x", "min"], "y"]'),
        "objective 1 must be a name or",
    ),
    (toml(KEYS, objectives="objectives = [true, false]"), "objective 1 must be a name or a"),
    (toml(KEYS, objectives="objectives = 2"), "objectives are a list, of names or of tables"),
    (toml(KEYS, objectives='objectives = "x"'), "objectives are a list, of names or of"),
    (toml(KEYS, objectives='objectives = ["x", "arm"]'), "cannot be called 'arm'"),
    (toml(KEYS, objectives='objectives = ["x", "ticket"]'), "cannot be called 'ticket'"),
    (toml(KEYS, objectives='objectives = ["x", "item"]'), "cannot be called 'item'"),
    (toml(KEYS, objectives='objectives = ["x", "result"]'), "cannot be called 'result'"),
    (toml(KEYS, objectives='objectives = ["x", "y "]'), "objective number 2 has spaces around"),
    (own(objectives="objectives = [{name = 1, variance = 1}]"), "objective 1 has no name"),
    (
        own(objectives='objectives = [{name = "x", variance = true}]'),
        "must be a number, got True",
    ),
    (
        own(objectives='objectives = [{name = "x", variance = "1"}]'),
        "must be a number, got '1'",
    ),
    (
        own(objectives='objectives = [{name = "x", variance = [1]}]'),
        "must be a number, got [1]",
    ),
    (own(objectives='objectives = [{name = "x", variance = 0}]'), "every metric is exact"),
    (
        own(objectives='objectives = [{name = "x", variance = -1}]'),
        "positive and finite, got -1",
    ),
    (own(objectives='objectives = [{name = "x", variance = nan}]'), "positive and finite"),
    (
        own(objectives=f'objectives = [{{name = "x", variance = {HUGE}}}]'),
        "positive and finite",
    ),
    (
        own(objectives='objectives = [{name = "x", variance = 1, direction = true}]'),
        "unknown direction of objective 'x': 'True'",
    ),
    (
        toml(KEYS, covariance='covariance = ["1", "2"]'),
        "the covariance must be numbers, got '1'",
    ),
    (toml(KEYS, covariance="covariance = [true, true]"), "the covariance must be numbers, got"),
    (toml(KEYS, covariance="covariance = true"), "the covariance must be numbers, got True"),
    (toml(KEYS, covariance="covariance = [[1], [1, 2]]"), "in a rectangular array"),
    (toml(KEYS, covariance="covariance = [1, 2, 3]"), "2 variances or a 2 x 2 matrix"),
    (
        toml(KEYS, covariance=f"covariance = [{HUGE}, 1]"),
        "must be positive and finite, got inf",
    ),
    (toml(KEYS, covariance="covariance = [[1, 2], [2, 1]]"), "not positive definite"),
    (toml(KEYS, covariance="covariance = [[1, 0.5], [0.1, 1]]"), "is not symmetric"),
    (toml(LINEAR, xi="regularization = true"), "regularization must be a number, got True"),
    (toml(LINEAR, xi="regularization = [1]"), "regularization must be a number, got [1]"),
    (toml(LINEAR, xi=f"regularization = {HUGE}"), "positive and finite, got a whole number of"),
    (
        toml(LINEAR, xi="regularization = 0"),
        "regularization must be positive and finite, got 0",
    ),
    (toml(LINEAR, p="parameter_set = {ball = true}"), "the radius of the ball must be numbers"),
    (toml(LINEAR, p='parameter_set = {ball = "1"}'), "the radius of the ball must be numbers"),
    (
        toml(LINEAR, p=f"parameter_set = {{ball = {HUGE}}}"),
        "the radius of the ball must be finite",
    ),
    (toml(LINEAR, p="parameter_set = {ball = -1}"), "the radius of the ball must be positive"),
    (
        toml(KEYS, p="parameter_set = {low = 0, high = true}"),
        "high end of the box must be numbers",
    ),
    (
        toml(KEYS, p=f"parameter_set = {{low = -{HUGE}, high = 1}}"),
        "low end of the box must be",
    ),
    (toml(KEYS, p="parameter_set = 3"), "'parameter_set' must be a table, got 3"),
    (
        toml(KEYS, p=f"prior = {{pulls = {HUGE}, means = [1, 2]}}"),
        "the pulls of the prior must be",
    ),
    (
        toml(KEYS, p="prior = {pulls = true, means = [1, 2]}"),
        "pulls of the prior must be numbers",
    ),
    (
        toml(KEYS, p='prior = {pulls = 1, means = ["1", 2]}'),
        "means of the prior must be numbers",
    ),
    (toml(KEYS, p=f"prior = {{pulls = 1, means = [{HUGE}, 2]}}"), "means of the prior must be"),
    (
        toml(KEYS, p="prior = {pulls = -1, means = [1, 2]}"),
        "number of measurements of at least 0",
    ),
    (toml(KEYS, truth="truth = {A = [1, true], B = [3, 4]}"), "'truth' of 'A' must be finite"),
    (toml(KEYS, truth='truth = {A = [1, "2"], B = [3, 4]}'), "'truth' of 'A' must be finite"),
    (
        toml(KEYS, truth=f"truth = {{A = [1, {HUGE}], B = [3, 4]}}"),
        "'truth' of 'A' must be finite",
    ),
    (toml(KEYS, truth="truth = true"), "'truth' must be a CSV file or a table, got True"),
    (toml(KEYS, g=f"guess = {{A = [1, {HUGE}], B = [3, 4]}}"), "guess of 'A' in 'y' must be a"),
    (
        toml(KEYS, g="guess = {A = [1, [3, 2]], B = [3, 4]}"),
        "guess of 'A' in 'y' must be a finite",
    ),
    (
        toml(KEYS, g="guess = {A = [1, [1, true]], B = [3, 4]}"),
        "the guess of 'A' in 'y' must be",
    ),
    (toml(KEYS, g="guess = 3"), "'guess' must be a CSV file or a table, got 3"),
    (toml(LINEAR, a='answers = "nowhere.csv"'), "cannot read the table"),
    (toml(LINEAR, a="answers = 3"), "'answers' must be a string, got 3"),
    (
        toml(LINEAR, t=f"theta = {{u = [{HUGE}, 1], v = [1, 1]}}"),
        "'theta' of 'u' must be finite",
    ),
    (toml(KEYS, r="results = true"), "'results' must be a string, got True"),
    (toml(KEYS, r='results = "header.csv"'), "header line and at least one more line"),
    (toml(KEYS, d="delta = true"), "'delta' must be a number, got True"),
    (toml(KEYS, d=f"delta = {HUGE}"), "delta must lie strictly between 0 and 1, got a whole"),
    (toml(KEYS, d="delta = nan"), "delta must lie strictly between 0 and 1, got nan"),
    (toml(KEYS, s="seed = 1.5"), "'seed' must be a whole number, got 1.5"),
    (toml(KEYS, s=f"seed = -{HUGE}"), "seed must be at least 0, got a whole number"),
    (toml(KEYS, s=f"seed = {HEX}"), "seed must be less than 2^128, got a whole number"),
    (toml(KEYS, arms=f"arms = [{HEX}, 2]"), "arm number 1 must be a name, got a whole number"),
    (toml(KEYS, n="noise = 3"), "'noise' must be a string, got 3"),
    (toml(KEYS, n="name = 3\n", name=""), "'name' must be a string, got 3"),
    (toml(KEYS, r="rules = {kappa = true}"), "'kappa' of [rules] must be a number, got True"),
    (toml(KEYS, r=f"rules = {{kappa = {HUGE}}}"), "'kappa' of [rules] must be positive and"),
    (toml(KEYS, r=f"rules = {{eta = {HUGE}}}"), "'eta' of [rules] must be positive and finite"),
    (toml(KEYS, r="rules = {eta = true}"), "'eta' of [rules] must be a number, got True"),
    (toml(KEYS, t='time_limit = "soon"'), "the time limit must be a duration such as '90s'"),
    (toml(KEYS, c="confidence = 95"), "confidence is the probability of a right answer"),
    (toml(KEYS, e="expected_results = 0"), "expected_results must be a number of measurements"),
    (toml(KEYS, g="guarantee = 3"), "'guarantee' must be a string, got 3"),
    (toml(KEYS, r="rules = {alpha = true}"), "'alpha' of [rules] must be a number, got True"),
    (toml(KEYS, r="rules = {sampling = 3}"), "unknown sampling rule '3'"),
    (toml(KEYS, r="rules = 3"), "'rules' must be a table, got 3"),
    (toml(LINEAR, i="intercept = 3"), "intercept must be True, False or left out, got 3"),
    (toml(KEYS, s="study = 3"), "'study' must be a table, got 3"),
    (toml(KEYS, s="study = {hold = 1}"), "hold must be a number of standard deviations of at"),
    (toml(KEYS, s="study = {reasons = 1}"), "reasons must be true or false, got '1'"),
    (toml(KEYS, s="study = {two = true}"), "unknown key of the study 'two'"),
    (toml(KEYS, d=f"delta = {DIGITS}"), "is not valid TOML: Exceeds the limit"),
    (toml(KEYS, d=f"delta = {DEEP}"), "nested too deeply"),
    (toml(KEYS, u=f"{'x' * 5000} = 1"), "unknown key 'xxx"),
    ("\x00", "is not valid TOML"),
]
TABLES = {
    "arms.csv": "arm,u,v\na,1,0\nb,0,1\n",
    "arabic.csv": "arm,u,v\na,\u0661,0\nb,0,1\n",
    "comma.csv": 'arm,u,v\na,"1,5",0\nb,0,1\n',
    "under.csv": "arm,u,v\na,1_0,0\nb,0,1\n",
    "header.csv": "arm,x,y\n",
    "full.csv": "arm,x,y\nA,\uff11,2\n",
    "space.csv": "arm,x,y\nA,1\u00a0,2\n",
    "means.csv": "arm,x,y,sd\nA,1,2,0.5\n",
    "good.toml": toml(KEYS),
    "linear.toml": toml(LINEAR),
}

# In the store: 'trial', with one result of arm A.
COMMANDS: list[tuple[str, str]] = [
    ("demo --delta 2", "expected a number between 0 and 1"),
    ("demo --seed -3", "a whole number of at least 0"),
    ("mcp --store foo://x", "foo"),
    ("run true", "there is one option, and nothing to compare it with"),
    ("compare nowhere.csv also.csv", "cannot read the table of scores nowhere.csv"),
    ("matrix nowhere.csv", "cannot read the table of scores nowhere.csv: No such file"),
    ("matrix good.toml", "good.toml"),
    ("simulate nowhere.toml", "cannot read the problem file nowhere.toml: No such file"),
    ("simulate /dev/zero.toml", "cannot read the problem file /dev/zero.toml"),
    ("simulate .", "cannot read the problem file .: Is a directory"),
    ("simulate good.toml --runs 0", "runs must be a whole number of at least 1, got 0"),
    ("simulate good.toml --runs 99999999999", "runs must be at most 1,000,000"),
    ("simulate good.toml --jobs -7", "jobs must be a whole number of at least 1, got -7"),
    ("simulate good.toml --max-samples -1", "--max-samples must be at least 1"),
    ("simulate good.toml --kappa nan", "'kappa' must be finite, got 'nan'"),
    ("simulate good.toml --tuning alpha=1", "alpha is the rate of forced exploration"),
    ("simulate good.toml --tuning alpha", "--tuning must be NAME=VALUE, got 'alpha'"),
    ("simulate good.toml --tuning beta=1", "unknown tuning constant 'beta'"),
    ("simulate good.toml --expected-results 9:3", "at least 2, or a range (low, high)"),
    ("simulate good.toml --expected-results x", "expected_results must be a number, got 'x'"),
    ("simulate good.toml --guarantee sure", "unknown guarantee 'sure'; known: 'validated'"),
    ("simulate good.toml --guarantee proven --stopping glr", "contradict each other"),
    ("simulate good.toml --rho 0.5", "a problem file takes no parameters, got 'rho'"),
    ("simulate linear.toml", "linear.toml has no truth, so it cannot be simulated"),
    ("simulate correlated --dask tcp://[::1]:1", "no Dask scheduler answers at"),
    ("simulate random-gaussian --k 99999999", "--k must be at most 100,000, got 99999999"),
    ("simulate random-gaussian --d 9999", "--d must be at most 100, got 9999"),
    ("complexity nowhere.toml", "cannot read the problem file"),
    ("complexity linear.toml", "linear.toml has no truth"),
    ("complexity good.toml --delta 7", "delta"),
    ("complexity good.toml --tolerance 0", "tolerance"),
    ("complexity random-gaussian --k 99999999", "--k must be at most 100,000"),
    ("lab bench --out good.toml", "--out 'good.toml' cannot be a folder"),
    ("lab calibrate --rule never", "unknown rule 'never'"),
    ("lab calibrate --family none", "unknown family 'none'"),
    ("lab calibrate --out no/c.csv", "there is no folder 'no'"),
    ("lab calibrate --out good.toml", "expected a name ending in .csv"),
    ("plan nowhere.toml", "cannot read the problem file"),
    ("plan linear.toml", "has no guess of the means, so it cannot be planned"),
    ("plan good.toml --runs 0", "runs must be a whole number of at least 1"),
    ("plan good.toml --runs 99999999", "runs must be at most 1,000,000"),
    ("plan good.toml --delta 0", "--delta must lie strictly between 0 and 1, got 0"),
    ("plan good.toml --jobs 0", "jobs must be at least 1"),
    ("plan good.toml --max-samples 0", "must be a whole number of at least 1"),
    ("plan good.toml --plot no/p.png", "there is no folder 'no'"),
    ("plan good.toml --plot p.gif", "unknown kind of plot '.gif'"),
    ("plan good.toml --seed -1", "seed must be a whole number of at least 0"),
    ("report tiral", "unknown study 'tiral'"),
    ("report trial --out no/r.html", "cannot write no/r.html"),
    ("report trial --store sqlite:///no.db", "there is no store 'no.db'"),
    ("lab reproduce figure-9", "unknown figure 'figure-9'"),
    ("lab reproduce --runs 0", "runs"),
    ("lab reproduce --out good.toml", "--out 'good.toml' cannot be a folder"),
    ("lab results nowhere", "nowhere"),
    ("study create /dev/zero", "is too large: at most 100 MB are read from a file"),
    ("study create good.toml --name 'a\u200bb'", "a name of 1 to 100 printable characters"),
    ("study create good.toml --name cafe\u0301", "accents are characters of their own"),
    ("study create good.toml --name 'a\udcff'", "a name of 1 to 100 printable characters"),
    ("study ask 'a\udcff'", "no study has the name 'a\\udcff'"),
    ("study status 'a\udcff'", "no study has the name"),
    ("study verify 'a\udcff'", "no study has the name"),
    ("study ask trial -n 99999999", "the number of tickets is at most 10,000, got 99999999"),
    ("study ask trial --expires nan", "tickets expire after a positive time"),
    (
        "study tell trial --arm A --value x=\uff11 --value y=2",
        "got '\uff11': write it with the",
    ),
    ("study tell trial --arm A --value x=\u0663 --value y=2", "with the digits 0 to 9"),
    ("study tell trial --arm A --value 'x=1\u00a0' --value y=2", "with the digits 0 to 9"),
    ("study tell trial --arm A --value x=1,5 --value y=2", "got '1,5': write 1.5"),
    ("study tell trial --arm A --value x=1_0 --value y=2", "must be a number, got '1_0'"),
    ("study tell trial --arm A --value x=1e999 --value y=2", "it is too large for a number"),
    ("study tell trial --arm A --value x=0x10 --value y=2", "must be a number, got '0x10'"),
    (
        f"study tell trial --arm A --value x={'z' * 5000} --value y=2",
        "must be a number, got 'zz",
    ),
    ("study tell trial --arm A --value x=1 --value y=2e6 --strict", "y = 2e+06 is 1,414,212"),
    ("study tell trial --arm A --again --value x=1 --value y=2", "--again belongs to a file"),
    ("study tell trial --arm A --keep-columns all --value x=1", "--keep-columns belongs to a"),
    (
        "study tell trial --csv full.csv",
        "line 2: the value of 'x' must be a number, got '\uff11'",
    ),
    ("study tell trial --csv space.csv", "line 2: the value of 'x' must be a number"),
    ("study tell trial --csv means.csv", "the column 'sd' looks like one of a table of means"),
    ("study tell trial --csv /dev/zero", "is too large: at most 100 MB are read from a file"),
    ("study tell trial --csv .", "cannot read the results .: Is a directory"),
    ("study tell trial --csv told.csv", "the results in 'told.csv' were told already"),
    ("study tell trial --csv told.csv --again --keep-columns w", "unknown column to keep 'w'"),
    ("study correct trial --result 1 --value z=1", "unknown objective 'z'"),
    ("study correct trial --result 1", "the result has no values"),
    (
        "study correct trial --result 99999999999999999999 --value x=1",
        "the number of a result is at most 9,223,372,036,854,775,807",
    ),
    ("study withdraw trial", "name the result by its ticket or by its number"),
    ("study cancel trial x", "unknown ticket 'x'"),
    (f"study cancel trial {'x' * 3000}", "unknown ticket 'xxxxx"),
    (f"study tell trial --arm {'x' * 3000} --value x=1 --value y=2", "unknown arm 'xxxxx"),
    (f"study tell trial --csv {'x' * 200}.csv", "cannot read the results 'xxxxx"),
    (f"plan good.toml --plot {'x/' * 300}p.png", "there is no folder 'x/x/x/"),
    ("study export trial --out .", "cannot write .: it is a folder"),
    ("study log 'a\udcff'", "no study has the name"),
    ("study confirm trial", "name a result that is held, or an event that waits"),
    ("study confirm trial --result 7", "7"),
    ("study confirm trial --event 1", "event 1 does not wait for a confirmation"),
    ("study heads --store none.db", "there is no store 'none.db'"),
    ("study heads --store good.toml", "file is not a database"),
    ("study heads --store sqlite://", "is a store in memory, gone when the command ends"),
    ("study list --store mysql://u:hunter2@h/x", "a store is in SQLite or PostgreSQL"),
    ("study migrate --store none.db", "there is no store 'none.db'"),
    ("study backup psips.db", "psips.db is a database, or part of one"),
    ("study backup good.toml", "good.toml exists already: add --force"),
    ("study backup no/kept.db", "cannot write no/kept.db"),
    ("study restore none.db", "there is no store 'none.db'"),
    ("study restore psips.db", "there is a study 'trial' in this store already"),
    ("study restore psips.db --name tea", "there is no study 'tea' in psips.db"),
    ("study import none.json", "cannot read none.json: No such file"),
    ("study import good.toml", "good.toml is not what `psips study export --format json`"),
    ("study import .", "cannot read .: Is a directory"),
    ("study sign trial --ssh-key none", "none"),
    ("study sign tiral --ssh-key none", "unknown study 'tiral': did you mean 'trial'?"),
    ("serve --store none.db", "there is no store 'none.db'"),
    ("serve --port 99999", "port"),
    ("serve --host 0.0.0.0", "without them only 127.0.0.1 is served"),
    ("serve --behind-proxy", "token"),
    ("serve token add ann --role boss", "unknown role 'boss'"),
    ("serve token add ann --role owner --days 0", "a token is valid for 1 to 3,660 days"),
    ("serve token add 'a\u200bb' --role owner", "an invisible character (U+200B)"),
    ("serve token list --store none.db", "there is no store 'none.db'"),
    ("serve token revoke bob", "unknown token 'bob'"),
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store with a study in it."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "told.csv").write_text("arm,x,y\nA,1,2\n")
    problem = Problem(objectives=["x", "y"], covariance=[1, 2], arms=["A", "B"])
    study = Study.create(problem, f"sqlite:///{folder / 'psips.db'}", name="trial", seed=1)
    study.tell_file(folder / "told.csv")
    study.store.close()
    return (folder / "psips.db").read_bytes()


@pytest.fixture
def folder(tmp_path: Path, filled: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "told.csv").write_text("arm,x,y\nA,1,2\n")
    (tmp_path / "bad.csv").write_bytes(b"arm\n\xff\xfe\n")
    (tmp_path / "psips.db").write_bytes(filled)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSIPS_STORE", raising=False)
    return tmp_path


@pytest.fixture
def refuse(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run a command that must be refused; give the sentence."""
    monkeypatch.setattr("psips.simulation.cluster.SCHEDULER_TIMEOUT", 1.0)

    def call(*words: str) -> str:
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        monkeypatch.setattr(sys, "argv", ["psips", *words])
        with pytest.raises(SystemExit) as end:
            main()
        written = capsys.readouterr()
        assert (end.value.code, written.out) == (2, "")
        assert written.err.startswith("psips: ")
        assert written.err.count("\n") == 1
        assert len(written.err) < 1000
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        return written.err

    return call


def test_there_are_enough_of_them() -> None:
    commands = {command for command, _ in COMMANDS} | {f"study {command}" for command, _ in BAD}
    files = {text for text, _ in FILES}
    assert len(commands) == len(COMMANDS) + len(BAD)
    assert len(files) == len(FILES)
    assert len(commands) + len(files) >= 150
    elsewhere = {"init", "check"}  # tests/test_cli_files.py
    takes_nothing = {"instances"}
    for name in set(every_command(typer.main.get_command(app))) - elsewhere - takes_nothing:
        assert any(command.startswith(name) for command in commands), name
    for key in problem_file.KEYS:
        assert any(re.search(rf"^{key} = ", text, re.MULTILINE) for text in files), key


def every_command(command: Any, path: str = "") -> Iterator[str]:
    """The words of each command of the command line."""
    for name, one in command.commands.items():
        words = f"{path} {name}".strip()
        if not one.hidden:
            yield words
        if hasattr(one, "commands"):
            yield from every_command(one, words)


@pytest.mark.parametrize(("command", "sentence"), COMMANDS, ids=[c[:60] for c, _ in COMMANDS])
def test_commands(refuse: Any, command: str, sentence: str) -> None:
    assert sentence in refuse(*shlex.split(command))


@pytest.mark.parametrize(("text", "sentence"), FILES, ids=[s for _, s in FILES])
def test_files(refuse: Any, folder: Path, text: str, sentence: str) -> None:
    (folder / "design.toml").write_text(text, encoding="utf-8")
    said = refuse("study", "create", "design.toml")
    assert sentence in said
    assert said.startswith("psips: design.toml") or "sampling rule" in said


@pytest.mark.parametrize("command", ["simulate", "plan", "complexity"])
def test_other_readers_of_files(refuse: Any, folder: Path, command: str) -> None:
    shared = [entry for entry in FILES if "sampling rule" not in entry[1]]
    for text, sentence in shared[::12]:
        (folder / "design.toml").write_text(text, encoding="utf-8")
        assert sentence in refuse(command, "design.toml")


def test_a_path_with_nul_in_it(folder: Path) -> None:
    study = Study.open("trial", f"sqlite:///{folder / 'psips.db'}")
    for call in (lambda: Study.create("a\0.toml"), lambda: study.tell_file("a\0.csv")):
        with pytest.raises(InputError, match="it has a NUL character"):
            call()
    study.store.close()
