"""The sets predicted by the rule 'predicted', each with an account of its evidence.

An account is opened on a few results, and may be of little use though its set is right: a
witness that looked safe then may nearly tie with the answer that it is to dominate. So it is
looked at again when it has taken PREDICTION_GROWTH times what was expected, and now and then
from there on: the same set is predicted again if that is expected to cost less than
1 / PREDICTION_GROWTH of what was spent on the account.

With a tolerance S_hat may be another set though that of the account is right too. The two are
compared then, and again when all results have grown by AGAIN: S_hat is turned to if it is
expected to take fewer results from here on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psips.aliases import Floats, Mask
from psips.session.restoring import require, within
from psips.state.account import OTHER, RENEWED, Account, level_of, no_account, open_account
from psips.state.model import Model

PREDICTION_GROWTH = 2.0
AGAIN = 1.25  # results grow by this from one look to the next


class Predictions:
    """Accounts in the order in which they were opened, and which of them is in force."""

    def __init__(self, model: Model, log_inverse: float) -> None:
        self._model = model
        self._log_inverse = log_inverse  # log(1/delta)
        self._tolerant = bool(model.slack.any() or model.give.any())
        self._nothing = no_account(model)
        self.accounts: list[Account] = []
        self.active = -1  # which of them was predicted last

    @property
    def account(self) -> Account:
        """The set predicted last and the evidence for it."""
        return self.accounts[self.active] if self.accounts else self._nothing

    @property
    def proven(self) -> list[int]:
        """With a tolerance, the set in force if it is proven, which S_hat need not be."""
        account = self.account
        if not self._tolerant or account.level[0] == 0.0 or account.size[0] > 0:
            return []
        return [int(a) for a in np.flatnonzero(account.inside)]

    @property
    def in_turn(self) -> list[Account]:
        """All accounts, the one in force last."""
        return sorted(self.accounts, key=lambda one: one is self.account)

    def turn_to(self, inside: Mask, pulls: Floats, B: Floats, hopeful: bool) -> None:
        """Turn to the last account of a set; open one if there is none, or it is of no use.

        The account in force is kept if it is ``hopeful``, can prove its set, and if another is
        not expected to do better.
        """
        known = [j for j, one in enumerate(self.accounts) if (one.inside == inside).all()]
        fresh = not known or known[-1] == self.active
        account = self._opened(inside, pulls, B) if fresh else self.accounts[known[-1]]
        if hopeful:
            since, due = pulls - self.account.N1, self.account.due
            left = self._expected(account) if fresh else self._left(account, pulls, B)
            if PREDICTION_GROWTH * left > self._model.costs @ since:
                if self.active in known:  # the same set
                    due[RENEWED] = pulls.sum() + (AGAIN - 1.0) * since.sum()
                    return
                if left >= self._left(self.account, pulls, B):
                    due[OTHER] = AGAIN * pulls.sum()
                    due[RENEWED] = max(due[RENEWED], due[OTHER])
                    return
        self.active = len(self.accounts) if fresh else known[-1]
        if fresh:
            self.accounts.append(account)

    def _left(self, account: Account, pulls: Floats, B: Floats) -> float:
        """About what it takes yet to settle all pieces of an account, by what is known now."""
        model, since = self._model, pulls - account.N1
        again = open_account(model, account.inside, pulls, B, float(account.level[0]))
        if model.unstructured:
            return float(model.costs @ np.maximum(self._needed(again) - since, 0.0))
        return self._expected(again) - float(model.costs @ since)

    def _opened(self, inside: Mask, pulls: Floats, B: Floats) -> Account:
        """Return an account that is opened now, as the next one."""
        level = level_of(self._log_inverse, len(self.accounts))
        account = open_account(self._model, inside, pulls, B, level)
        results = self._expected(account) * pulls.sum() / (self._model.costs @ pulls)
        account.due[:] = pulls.sum() + PREDICTION_GROWTH * results
        account.due[OTHER] = 0.0
        return account

    def _expected(self, account: Account) -> float:
        """About what it costs to settle all pieces of an account that was just opened."""
        model = self._model
        if model.unstructured:
            return float(model.costs @ self._needed(account))
        first = account.first[:-1]
        u = model.Z[account.arms[first, 0]] - model.Z[account.arms[first, 1]]
        variance = account.s[first, 0] * ((u @ account.C1) * u).sum(axis=1)
        least = model.h / account.N1.sum()  # a design that tells nothing of some feature
        times = np.max(variance / account.q[first, 0], initial=least)  # the results so far
        return float(times * (model.costs @ account.N1))

    def _needed(self, account: Account) -> Floats:
        """About how many results of each arm (K,) the claims of a fresh account need."""
        needed = np.zeros(self._model.K)
        np.maximum.at(needed, account.arms, np.ceil(account.s / account.q))
        return needed

    def snapshot(self) -> dict[str, Any]:
        """Return what accounts cannot be rebuilt without, as plain data."""
        kept = ("inside", "N1", "B1", "settled", "due")
        accounts = [
            {name: getattr(one, name).tolist() for name in kept} for one in self.accounts
        ]
        return {"accounts": accounts, "active": self.active}

    def restore(self, accounts: list[dict[str, Any]], active: int) -> None:
        """Rebuild accounts; claims are a function of what was known at the prediction."""
        model = self._model
        self.accounts, self.active = [], active
        for kept in accounts:
            inside, N1 = np.array(kept["inside"], bool), np.array(kept["N1"], float)
            B1 = np.array(kept["B1"], float)
            sizes = (inside.shape, N1.shape, B1.shape)
            fitting = sizes == ((model.n,), (model.K,), (model.h, model.d))
            require(fitting and inside.any(), "an account is of no set of answers")
            require(np.isfinite(N1).all() and np.isfinite(B1).all(), "an account is not finite")
            least = N1.min() if model.unstructured else N1.sum()
            require(N1.min() >= 0.0 and least > 0.0, "an account is of no results")
            opened = self._opened(inside, N1, B1)
            opened.settled[:] = kept["settled"]
            left = np.flatnonzero(~opened.settled)
            opened.left[: len(left)] = left
            opened.size[0] = len(left)
            due = kept.get("due", opened.due)  # older snapshots have none, or two
            opened.due[: len(due)] = due
            self.accounts.append(opened)
        known = len(accounts)
        require(within(active, known) if known else active == -1, "no account is in force")
