"""Pictures look as they did: sizes, colours, widths, places of names and legends.

``python tests/test_picture_styles.py`` records them again, for someone who has looked at them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

from psips import Problem, Session, Study, plots
from psips.lab.reproduction.reproduce import FIGURES
from psips.pictures.svg import front
from psips.plots.comparing import comparison
from psips.web.charts import Line, _picture
from psips.web.view_models import view_of

RECORD = Path(__file__).with_suffix(".json")
MEANS = {"A": [1.0, 4.0], "B": [2.0, 3.0], "C": [3.0, 1.0], "D": [0.5, 0.6], "E": [2.9, 2.9]}


def rows_of(problem: Problem) -> Iterator[tuple[str, list[float]]]:
    """Five measurements of each option, whose means are round numbers."""
    for step in (-0.2, 0.1, 0.2, 0.1, -0.2):
        for arm in problem.arms:
            yield arm, [x + step for x in MEANS[arm[0]][: problem.d]]


def session_of(objectives: dict[str, str], **more: Any) -> Session:
    noise = [0.05] * len(objectives)
    problem = Problem(arms=list(MEANS), objectives=objectives, covariance=noise, **more)
    session = Session(problem, rng=1, stopping="never")
    for arm, values in rows_of(problem):
        session.tell(arm, values)
    return session


def chart(objectives: dict[str, str], **more: Any) -> str:
    arms = ["A", "B", "C", "D", "E with a name that is long"]
    noise = [0.05] * len(objectives)
    problem = Problem(arms=arms, objectives=objectives, covariance=noise, **more)
    study = Study.create(problem, "sqlite://", name="x", seed=1, stopping="never")
    study.tell_many(
        [{"arm": a, **dict(zip(objectives, v, strict=True))} for a, v in rows_of(problem)]
    )
    view = view_of(study.state, "2026-01-01T00:00:00Z", study.store)
    return front(view.front, 0, len(objectives) - 1, False)


def forecasts(costs: bool) -> Any:
    """A plan of two deltas, as the figure reads it."""
    each = [
        SimpleNamespace(
            delta=delta,
            quantiles=(10.0, 20.0, 30.0 / delta, 40.0 / delta, 900.0),
            cost_quantiles=(11.0, 21.0, 31.0, 41.0, 51.0),
            lower_bound=bound,
        )
        for delta, bound in ((0.1, 12.0), (0.01, None))
    ]
    pulls = {f"arm {k}": 10.0 + k for k in range(23)}
    return SimpleNamespace(
        forecasts=each,
        mean_pulls=pulls,
        delta=0.1,
        cap=800,
        problem=SimpleNamespace(has_costs=costs),
    )


def designs() -> Any:
    each = [
        SimpleNamespace(
            name=name,
            quantiles=(10.0, 20.0, 30.0, 40.0, 90.0),
            samples=31.0,
            error_interval=(0.01, 0.2),
            errors=1,
            stopped=stopped,
            delta=0.1,
        )
        for name, stopped in (("one", 20), ("two", 0))
    ]
    return SimpleNamespace(designs=each, has_costs=False)


def described(figure: Any) -> list[Any]:
    """What can be seen of a figure, rounded."""
    figure.draw_without_rendering()
    parts: list[Any] = [["figure", *figure.get_size_inches().round(3).tolist()]]
    for ax in figure.axes:
        parts.append([ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale()])
        parts.append(np.round([*ax.get_xlim(), *ax.get_ylim()], 3).tolist())
        grid = ax.xaxis.get_gridlines()[0]
        sides = [side for side, spine in ax.spines.items() if spine.get_visible()]
        parts.append([sides, grid.get_alpha(), grid.get_linewidth(), ax.get_axisbelow()])
        for line in ax.get_lines():
            data = np.round(np.asarray(line.get_xydata(), float), 3).tolist()
            parts.append([*style_of(line), data if len(data) < 30 else len(data)])
        for patch in ax.patches:
            sizes = np.round([patch.get_width(), patch.get_height()], 3).tolist()
            parts.append(
                [type(patch).__name__, to_hex(patch.get_facecolor()), patch.get_alpha(), sizes]
            )
        for text in ax.texts:
            place = [round(float(x), 1) for x in text.get_position()]
            parts.append([text.get_text(), place, text.get_ha(), text.get_va()])
    for legend in [*(ax.get_legend() for ax in figure.axes), *figure.legends]:
        if legend is not None:
            words = [text.get_text() for text in legend.get_texts()]
            handles = [style_of(one) for one in legend.legend_handles]
            parts.append([words, handles, legend._ncols, legend.get_frame_on()])
    return json.loads(json.dumps(parts))  # as it is read back


def style_of(line: Any) -> list[Any]:
    return [
        *(to_hex(line.get_color()), to_hex(line.get_markerfacecolor()), line.get_marker()),
        *(line.get_linestyle(), line.get_linewidth(), line.get_markersize()),
        *(line.get_markeredgewidth(), line.get_alpha(), line.get_zorder(), line.get_label()),
    ]


def cells_of(name: str) -> list[Any]:
    """The runs of a figure of the paper: instances, rules, caps and where they stand."""
    rows: dict[str, int] = {}
    for row in FIGURES[name].rows(3):
        one = row.cell
        marks = [len(one.marks), *one.marks[:3], *one.marks[-2:]]
        what = [*row[:4], one.instance, dict(one.params), dict(one.rules), one.max_results]
        text = json.dumps([*what, marks, one.posterior], sort_keys=True, default=str)
        rows[text] = rows.get(text, 0) + 1
    return [
        FIGURES[name].share,
        FIGURES[name].timed,
        [[*json.loads(k), n] for k, n in rows.items()],
    ]


TWO, ONE = {"yield": "max", "cost": "min"}, {"yield": "max"}
LINES = [
    Line("one", "#123456", [(0.0, 0.0), (10.0, 5.0)]),
    Line("", "#999999", [(0.0, 1.0), (10.0, float("nan"))], thin=True),
    Line("a name that is too long for its place in it", "#654321", [(2.0, -1.0)], dashed=True),
    Line("three", "#111111", [(3.0, 2.0)]),
]
MADE: dict[str, Callable[[], Any]] = {
    "front of two": lambda: described(plots.front(session_of(TWO)).figure),
    "front of one": lambda: described(plots.front(session_of(ONE)).figure),
    "pulls": lambda: described(plots.pulls(session_of(TWO)).figure),
    "pulls in a narrow figure": lambda: described(
        plots.pulls(session_of(TWO), plots.detached((5.0, 4.0))).figure
    ),
    "samples of a plan": lambda: described(plots.plan(forecasts(False))),
    "costs of a plan": lambda: described(plots.plan(forecasts(True))),
    "comparison": lambda: described(comparison(designs())),
    "chart of two": lambda: split(chart(TWO)),
    "chart with a limit": lambda: split(chart({**TWO, "yield": "min"}, limits=["cost <= 2"])),
    "chart of one": lambda: split(chart(ONE)),
    "chart of lines": lambda: split(_picture(LINES, "below", "beside")),
    **{f"runs of {name}": (lambda name=name: cells_of(name)) for name in FIGURES},
}


def split(svg: str) -> list[str]:
    return re.findall(r"<[^>]*>[^<]*", svg)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", MADE)
def test_a_picture_looks_as_it_did(name: str) -> None:
    known = json.loads(RECORD.read_text())
    assert known.keys() == MADE.keys()
    assert MADE[name]() == known[name]


if __name__ == "__main__":
    found = {name: make() for name, make in MADE.items()}
    lines = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(part) for part in parts) + "\n]"
        for name, parts in found.items()
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
