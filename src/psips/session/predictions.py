"""The sets that the rule 'predicted' has predicted, each with an account of the evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from psips.aliases import Floats, Mask
from psips.kernels.accounts import Account, level_of, no_account, open_account
from psips.kernels.model import Model


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
        else:
            self.active = len(self.accounts)
            self._open(inside, pulls, B)

    def _open(self, inside: Mask, pulls: Floats, B: Floats) -> Account:
        level = level_of(self._log_inverse, len(self.accounts))
        self.accounts.append(open_account(self._model, inside, pulls, B, level))
        return self.accounts[-1]

    def snapshot(self) -> dict[str, Any]:
        """Return what accounts cannot be rebuilt without, as plain data."""
        kept = ("inside", "N1", "B1", "settled")
        accounts = [
            {name: getattr(one, name).tolist() for name in kept} for one in self.accounts
        ]
        return {"accounts": accounts, "active": self.active}

    def restore(self, accounts: list[dict[str, Any]], active: int) -> None:
        """Rebuild accounts; claims are a function of what was known at the prediction."""
        self.accounts, self.active = [], active
        for kept in accounts:
            inside, N1 = np.array(kept["inside"], bool), np.array(kept["N1"], float)
            opened = self._open(inside, N1, np.array(kept["B1"], float))
            opened.settled[:] = kept["settled"]
