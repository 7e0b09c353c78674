"""Views of the state of a run that do not own it; see `psips.kernels.jit.lent`."""

from __future__ import annotations

from psips.kernels.belief import Belief
from psips.kernels.cover import Cover
from psips.kernels.draws import Draw
from psips.kernels.front import Front
from psips.kernels.jit import lent, spliced
from psips.kernels.model import Model
from psips.kernels.noise import Source
from psips.kernels.rivals import Rival
from psips.kernels.round import Learner


@spliced
def lend_model(model: Model) -> Model:
    """Return the same model, without reference counting."""
    return Model(
        model.unstructured,
        model.diagonal,
        model.K,
        model.n,
        model.h,
        model.d,
        lent(model.A),
        lent(model.Z),
        lent(model.Sigma),
        lent(model.L),
        lent(model.P),
        model.xi,
        model.kind,
        lent(model.ball),
        lent(model.low),
        lent(model.high),
        lent(model.explore),
        lent(model.frame),
        lent(model.first),
    )


@spliced
def lend_belief(belief: Belief) -> Belief:
    """Return the same belief, without reference counting."""
    return Belief(
        lent(belief.pulls),
        lent(belief.N),
        lent(belief.B),
        lent(belief.theta),
        lent(belief.V),
        lent(belief.F),
        lent(belief.tally),
        lent(belief.sums),
    )


@spliced
def lend_front(front: Front) -> Front:
    """Return the same front, without reference counting."""
    return Front(
        lent(front.inside),
        lent(front.members),
        lent(front.live),
        lent(front.keeper),
        lent(front.mu),
        lent(front.W),
        lent(front.inverse),
        lent(front.reach),
        lent(front.size),
    )


@spliced
def lend_cover(cover: Cover) -> Cover:
    """Return the same cover, without reference counting."""
    return Cover(
        lent(cover.shape),
        lent(cover.terms),
        lent(cover.y),
        lent(cover.gap),
        lent(cover.L),
        lent(cover.b),
        lent(cover.r),
        lent(cover.mass),
        lent(cover.scale),
        lent(cover.theta),
        lent(cover.N),
        lent(cover.V),
    )


@spliced
def lend_learner(learner: Learner) -> Learner:
    """Return the same learner, without reference counting."""
    return Learner(
        lent(learner.gains),
        lent(learner.gap),
        lent(learner.played),
        lent(learner.pending),
        lent(learner.estimate),
        lent(learner.point),
        lent(learner.tally),
    )


@spliced
def lend_draw(draw: Draw) -> Draw:
    """Return the same room for draws, without reference counting."""
    return Draw(
        lent(draw.stream),
        lent(draw.theta),
        lent(draw.values),
        lent(draw.drawn),
        lent(draw.shift),
        lent(draw.piece),
        lent(draw.p),
        lent(draw.made),
        lent(draw.nearest),
        lent(draw.lists),
        lent(draw.work),
    )


@spliced
def lend_source(source: Source) -> Source:
    """Return the same source, without reference counting."""
    return Source(
        source.kind,
        lent(source.means),
        lent(source.L),
        lent(source.low),
        lent(source.high),
        lent(source.rows),
        lent(source.starts),
    )


@spliced
def lend_rival(rival: Rival) -> Rival:
    """Return the same state of a rival, without reference counting."""
    return Rival(lent(rival.standing), lent(rival.rounds), lent(rival.logs))
