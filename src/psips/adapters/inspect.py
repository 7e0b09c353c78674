"""Early stopping of an Inspect evaluation of several models or solvers on one dataset.

Each model or solver is a task of its own, and all tasks run at once. Before a sample runs, its
task asks; it goes ahead where the session would measure next, waits while others tell more,
and is left out once the Pareto set is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from psips.errors import InputError, quote
from psips.evaluation.sources import has_next
from psips.input.directions import with_directions
from psips.problem import Problem
from psips.session import Session, Ticket

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore
    from inspect_ai.util import EarlyStop

NAME = "psips"
STEP = 0.02  # seconds between two looks of a sample that waits
AHEAD = 4  # samples of each arm, on average, that may be allowed and not begun

Values = Callable[[Mapping[str, "SampleScore"]], Any]


class Contest:
    """Several models or solvers evaluated on one dataset, until the Pareto set is known.

    Parameters
    ----------
    arms : names
        Of the models or solvers; `arm` gives what each task needs.
    objectives : as of `Problem`
        Names of scorers, unless ``values`` is given.
    values : callable, optional
        From the scores of a sample, by scorer, to the values of a result.
    patience : float
        Seconds after which a sample that waits runs all the same: a task that the others wait
        for may not have begun.
    seed : int, optional
    **choices
        Fields of `Rules`, such as ``delta=0.05``.
    """

    def __init__(
        self,
        arms: Iterable[str],
        objectives: Any,
        *,
        values: Values | None = None,
        patience: float = 10.0,
        seed: int | None = None,
        **choices: Any,
    ) -> None:
        self.arms = list(arms)
        self.objectives = objectives = with_directions(objectives)
        self.values = values
        self.patience = patience
        self._seed, self._choices = seed, choices
        self._session: Session | None = None
        self._allowed: set[Ticket] = set()
        self._of = Problem(objectives=objectives, arms=self.arms)  # complains

    @property
    def session(self) -> Session:
        """What is known; there is none before a task has begun."""
        if self._session is None:
            raise InputError("no task has begun, so nothing is known yet: run the evaluation")
        return self._session

    def arm(self, name: str) -> Arm:
        """Return what goes into ``Task(early_stopping=...)`` of a model or solver."""
        self._of.arm_index(name)
        return Arm(self, name)

    def begin(self, items: list[str]) -> None:
        """Begin with the items of the first task; the others must have the same."""
        if self._session is None:
            problem = Problem(objectives=self.objectives, arms=self.arms, items=items)
            self._session = Session(problem, rng=self._seed, **self._choices)
        elif set(items) != set(self._session.problem.items):
            raise InputError(
                "the tasks do not have the same samples: give all the same dataset"
            )

    def may_run(self, arm: str, item: str) -> bool:
        """Whether a sample of an arm is to be measured now."""
        session = self.session
        most = AHEAD * len(self.arms)
        while Ticket(arm, item) not in self._allowed and len(self._allowed) < most:
            if not has_next(session):
                return True
            self._allowed.add(session.ask())
        return Ticket(arm, item) in self._allowed

    def run(self, arm: str, item: str) -> None:
        """Note that a sample runs."""
        self._allowed.discard(Ticket(arm, item))

    def tell(self, arm: str, item: str, scores: Mapping[str, SampleScore]) -> None:
        """Take in the scores of a sample.

        Those of samples that were still running at the stop are in the log of the evaluation
        alone: what is claimed is claimed of the stop, and they might put it in question again.
        """
        values = (self.values or self._plain)(scores)
        if not self.session.stopped:
            self.session.tell(arm, values, item=item)

    def _plain(self, scores: Mapping[str, SampleScore]) -> dict[str, float]:
        """Return scores as numbers, by the scorers that are objectives."""
        from inspect_ai.scorer import value_to_float

        to_float = value_to_float()
        for objective in self._of.objectives:
            if objective not in scores:
                raise InputError(
                    f"the samples have no score {quote(objective)}, only {sorted(scores)}: "
                    f"give the objectives the names of the scorers, or pass values=..."
                )
        return {o: to_float(scores[o].score.value) for o in self._of.objectives}


class Arm:
    """The task of one model or solver: Inspect's protocol ``EarlyStopping``."""

    def __init__(self, contest: Contest, name: str) -> None:
        self.contest, self.name = contest, name
        self._epochs = 1
        self._left_out = 0

    def _item(self, id: str | int, epoch: int) -> str:
        return str(id) if self._epochs == 1 else f"{id}, epoch {epoch}"

    async def start_task(
        self,
        task: EvalSpec,  # noqa: ARG002
        samples: list[Sample],
        epochs: int,
    ) -> str:
        """Begin."""
        self._epochs = epochs
        ids = [sample.id for sample in samples if sample.id is not None]
        rounds = range(1, epochs + 1)
        self.contest.begin([self._item(id, epoch) for epoch in rounds for id in ids])
        return NAME

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Let a sample run, wait, or leave it out."""
        import anyio
        from inspect_ai.util import EarlyStop

        contest, item, waited = self.contest, self._item(id, epoch), 0.0
        while (
            not contest.session.stopped
            and not contest.may_run(self.name, item)
            and waited < contest.patience
        ):
            await anyio.sleep(STEP)
            waited += STEP
        if contest.session.stopped:
            self._left_out += 1
            return EarlyStop(id=id, epoch=epoch, reason="the Pareto set is known")
        contest.run(self.name, item)
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        """Take in the scores of a sample."""
        self.contest.tell(self.name, self._item(id, epoch), scores)

    async def complete_task(self) -> dict[str, Any]:
        """Say how it stands."""
        session = self.contest.session
        return {
            "arm": self.name,
            "left_out": self._left_out,
            "stopped": session.stopped,
            "candidate_set": list(session.candidate_set),
        }
