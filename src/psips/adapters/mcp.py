"""Studies as tools of an agent: the Model Context Protocol over standard input and output.

An agent lists studies, creates them, asks what to measure, tells what came out and reads how it
stands. Before a study has stopped nothing is claimed: `status` has no Pareto set then, and says
so in words. The store is chosen by whoever starts the server, not by the agent.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

from psips.errors import InputError
from psips.problem import Problem
from psips.problem.goals_and_budget import THESE
from psips.report.pull_request import study_comment
from psips.rules.promises import short_promise
from psips.store import open_store
from psips.store.database import DatabaseStore
from psips.study import Study
from psips.study.outliers import FarValueWarning
from psips.study.plain import rows_of
from psips.version import __version__

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
    from pydantic import Field
except ImportError:
    raise InputError(
        "for the Model Context Protocol the package mcp is needed, in version 2 or later: "
        "pip install 'psips[mcp]'"
    ) from None

MOST_TICKETS = 100
NOT_YET = (
    "Nothing is claimed yet: the study has not stopped. The candidates are those that the "
    "estimates favour now, and may change. Ask, measure and tell until it stops."
)
INSTRUCTIONS = (
    "psips finds out which of several options are Pareto-optimal in noisy metrics, in few "
    "measurements. Loop: ask, measure the option of each ticket, tell the values with the "
    "ticket; end when 'stopped' is true. Tell every result as measured, one by one, never "
    "means, and never leave one out because of its value. Before the stop do not say which "
    "options are optimal: 'pareto_set' is null until then."
)

Name = Annotated[str, Field(description="Name of the study")]
Values = Annotated[
    dict[str, float], Field(description="Measured value by metric, of one measurement")
]


def server(store: str, user: str | None = None, read_only: bool = False) -> MCPServer[Any]:
    """Return the server, which is yet to be run.

    Parameters
    ----------
    store : str
        URL of the database.
    user : str, optional
        Who records; the login if left out.
    read_only : bool
        Whether to offer only the tools that change nothing.
    """
    made: MCPServer[Any] = MCPServer(
        "psips", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR"
    )
    tools = Tools(store, user, not read_only)
    looking = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    changing = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, open_world_hint=False
    )
    lookers: list[Callable[..., Any]] = [tools.list_studies, tools.status, tools.report]
    changers: list[Callable[..., Any]] = [tools.create_study, tools.ask, tools.tell]
    for tool in lookers:
        made.tool(annotations=looking)(_in_words(tool))
    for tool in [] if read_only else changers:
        made.tool(annotations=changing)(_in_words(tool))
    return made


def _in_words(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Hand what the agent got wrong to the agent, as a sentence."""

    @wraps(tool)
    def asked(*given: Any, **named: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FarValueWarning)  # the receipt has them
                return tool(*given, **named)
        except InputError as error:
            raise ToolError(str(error)) from None

    return asked


class Tools:
    """What an agent can do with the studies of one store."""

    def __init__(self, store: str, user: str | None, create: bool = True) -> None:
        self._store, self._user, self._create = store, user, create
        self._one = threading.Lock()  # calls come in threads, and change global warnings

    def _store_open(self) -> DatabaseStore:
        return open_store(self._store, create=self._create)

    @contextmanager
    def _opened(self, name: str) -> Iterator[Study]:
        with self._one, self._store_open() as opened:
            yield Study.open(name, opened, user=self._user)

    def list_studies(self) -> dict[str, Any]:
        """List the studies, and which of them have stopped."""
        found: list[dict[str, Any]] = []
        with self._one, self._store_open() as opened:
            for name in opened.studies():
                try:
                    study = Study.open(name, opened)
                except InputError as error:
                    found.append({"study": name, "error": str(error)})
                    continue
                state = {"stopped": study.stopped, "closed": study.closed}
                found.append({"study": name, "results": study.state.session.results, **state})
        return {"studies": found}

    def create_study(
        self,
        name: Name,
        options: Annotated[list[str], Field(description="Names of the options to compare")],
        metrics: Annotated[
            dict[str, str | dict[str, Any]],
            Field(
                description="Metric to 'max' (more is better) or 'min'; for values of 0 or 1: "
                "{'direction': 'max', 'kind': 'binary'}"
            ),
        ],
        delta: Annotated[
            float, Field(description="Accepted probability of a wrong set, such as 0.1")
        ] = 0.1,
        items: Annotated[
            bool | list[str],
            Field(
                description="True if every option is measured on the same items (questions, "
                "seeds), or the list of all items"
            ),
        ] = False,
        only_these: Annotated[
            bool,
            Field(description="True if the items of the list are all there are, for no others"),
        ] = False,
        tolerance: Annotated[
            dict[str, float] | None,
            Field(description="By metric: differences up to it do not matter"),
        ] = None,
        limits: Annotated[
            list[str] | None, Field(description="What an option must keep: 'latency <= 2'")
        ] = None,
        budget: Annotated[
            float | None, Field(description="Measurements that may be made in all")
        ] = None,
        seed: Annotated[int | None, Field(description="Seed of what is random")] = None,
    ) -> dict[str, Any]:
        """Register a study that finds out which options are Pareto-optimal in these metrics.

        Its design cannot be changed later.
        """
        problem = Problem(
            name=name,
            arms=options,
            objectives=metrics,
            items=items,
            epsilon=tolerance,
            limits=limits or [],
        )
        with self._one, self._store_open() as opened:
            made = Study.create(
                problem,
                opened,
                name=name,
                seed=seed,
                budget=budget,
                of=THESE if only_these else None,
                user=self._user,
                delta=delta,
            )
            return {"study": made.name, "options": options, "next": "ask"}

    def ask(
        self,
        study: Name,
        n: Annotated[int, Field(ge=1, le=MOST_TICKETS, description="How many tickets")] = 1,
    ) -> dict[str, Any]:
        """Ask what to measure next.

        Each ticket names an option (and an item, if the options share items) to measure once.
        A study that has stopped gives out no tickets.
        """
        with self._opened(study) as opened:
            tickets = [] if opened.stopped else opened.ask(n)
            given = [
                {
                    "ticket": one.id,
                    "option": one.arm,
                    **({} if one.item is None else {"item": one.item}),
                }
                for one in tickets
            ]
            return {"tickets": given, **_standing(opened)}

    def tell(
        self,
        study: Name,
        values: Values,
        ticket: Annotated[
            str | None, Field(description="Ticket of the measurement, from ask")
        ] = None,
        option: Annotated[
            str | None, Field(description="Option measured, if there is no ticket")
        ] = None,
        item: Annotated[
            str | None, Field(description="Item, if there is no ticket and items are shared")
        ] = None,
    ) -> dict[str, Any]:
        """Record one measurement, all metrics at once. Telling a ticket twice records it once.

        A value that noise does not explain may be held: it does not count until a person
        confirms it.
        """
        if (ticket is None) == (option is None):
            raise InputError("name what was measured: either the ticket or the option")
        with self._opened(study) as opened:
            told = opened.tell(option, values, ticket=ticket, item=item)
            return {
                "recorded": list(told.numbers),
                "known_already": told.known,
                "warnings": list(told.warnings),
                "held": list(told.held),
                **_standing(opened),
            }

    def status(self, study: Name) -> dict[str, Any]:
        """Say how a study stands: estimates, and the Pareto set once it has stopped."""
        with self._opened(study) as opened:
            known = opened.status()
            progress = None if known.progress is None else str(known.progress)
            waiting = [
                {"ticket": one.id, "option": one.arm, "item": one.item}
                for one in opened.open_tickets()
            ]
            return {
                **_standing(opened),
                "results": known.results,
                "estimates": rows_of(known.arm_names, known.arm_columns),
                "candidates": list(known.candidate_set),
                **({} if known.stopped else {"progress": progress}),
                "open_tickets": waiting,
                "held": [r.number for r in opened.held],
                "closed": known.closed,
            }

    def report(self, study: Name) -> str:
        """Return a summary of a study in Markdown, for people."""
        with self._opened(study) as opened:
            return study_comment(opened.name, opened.status())


def _standing(opened: Study) -> dict[str, Any]:
    """Say whether the study has stopped, and what is claimed then; nothing before."""
    session = opened.state.session
    if not opened.stopped:
        return {"stopped": False, "pareto_set": None, "claim": NOT_YET}
    found = session.pareto_set
    return {
        "stopped": True,
        "pareto_set": None if found is None else list(found),
        "claim": f"{session.claim} ({short_promise(opened.state.rules)})",
    }
