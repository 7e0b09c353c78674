"""The sets that the rule 'predicted' has predicted, each with an account of the evidence.

An account is opened on a few results, and may be of little use though its set is right: a
witness that looked safe then may all but tie with the answer that it is to dominate. So it is
looked at anew when it has taken PATIENCE times what was expected, and now and then from there
on: the same set is predicted anew if that is expected to cost less than 1 / PATIENCE of what
was spent on the account.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psips.aliases import Floats, Mask
from psips.kernels.accounts import (
    ANEW,
    REFUTED,
    Account,
    level_of,
    no_account,
    open_account,
)
from psips.kernels.claims import UNSEEN
from psips.kernels.model import Model

PATIENCE = 2.0
AGAIN = 1.25  # results since the prediction grow by this from one look to the next


def _refuted(account: Account) -> bool:
    """Whether all claims of a piece look false, see `psips.kernels.accounts.conclude`."""
    values = account.value[account.left[: account.size[0]]]
    seen = values[values > UNSEEN + 10.0]
    return bool(seen.size) and bool(seen.min() < -account.level[0] - REFUTED)


class Predictions:
    """Accounts in the order in which they were opened, and which of them is in force."""

    def __init__(self, model: Model, log_inverse: float) -> None:
        self._model = model
        self._log_inverse = log_inverse  # log(1/delta)
        self._nothing = no_account(model)
        self.accounts: list[Account] = []
        self.active = -1  # which of them was predicted last

    @property
    def account(self) -> Account:
        """The set predicted last and the evidence for it."""
        return self.accounts[self.active] if self.accounts else self._nothing

    def turn_to(self, inside: Mask, pulls: Floats, B: Floats) -> None:
        """Turn to the last account of a set; open one if there is none, or it is of no use."""
        known = [j for j, one in enumerate(self.accounts) if (one.inside == inside).all()]
        if known and known[-1] != self.active:
            self.active = known[-1]
            return
        fresh = self._opened(inside, pulls, B)
        if known and not _refuted(self.account):
            since = pulls - self.account.N1
            if PATIENCE * self._expected(fresh) > self._model.costs @ since:
                self.account.due[ANEW] = pulls.sum() + (AGAIN - 1.0) * since.sum()
                return
        self.active = len(self.accounts)
        self.accounts.append(fresh)

    def _opened(self, inside: Mask, pulls: Floats, B: Floats) -> Account:
        """Return an account that is opened now, as the next one."""
        level = level_of(self._log_inverse, len(self.accounts))
        account = open_account(self._model, inside, pulls, B, level)
        results = self._expected(account) * pulls.sum() / (self._model.costs @ pulls)
        account.due[:] = pulls.sum() + PATIENCE * results
        return account

    def _expected(self, account: Account) -> float:
        """About what it costs to settle all pieces of an account that was just opened."""
        model = self._model
        if model.unstructured:
            needed = np.zeros(model.K)
            np.maximum.at(needed, account.arms, np.ceil(account.s / account.q))
            return float(model.costs @ needed)
        first = account.first[:-1]
        u = model.Z[account.arms[first, 0]] - model.Z[account.arms[first, 1]]
        variance = account.s[first, 0] * ((u @ account.C1) * u).sum(axis=1)
        least = model.h / account.N1.sum()  # a design that tells nothing of some feature
        times = np.max(variance / account.q[first, 0], initial=least)  # the results so far
        return float(times * (model.costs @ account.N1))

    def snapshot(self) -> dict[str, Any]:
        """Return what accounts cannot be rebuilt without, as plain data."""
        kept = ("inside", "N1", "B1", "settled", "due")
        accounts = [
            {name: getattr(one, name).tolist() for name in kept} for one in self.accounts
        ]
        return {"accounts": accounts, "active": self.active}

    def restore(self, accounts: list[dict[str, Any]], active: int) -> None:
        """Rebuild accounts; claims are a function of what was known at the prediction."""
        self.accounts, self.active = [], active
        for kept in accounts:
            inside, N1 = np.array(kept["inside"], bool), np.array(kept["N1"], float)
            opened = self._opened(inside, N1, np.array(kept["B1"], float))
            opened.settled[:] = kept["settled"]
            left = np.flatnonzero(~opened.settled)
            opened.left[: len(left)] = left
            opened.size[0] = len(left)
            opened.due[:] = kept.get("due", opened.due)  # older snapshots have none
            self.accounts.append(opened)
