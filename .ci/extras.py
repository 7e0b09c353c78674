"""Print what extras ask for, for `pip install -r`: python .ci/extras.py NAME... [--lowest].

With --lowest: the lowest versions that pyproject.toml claims, of the dependencies too.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["project"]


def required(extras: list[str]) -> list[str]:
    """Return what extras ask for, with what they take from other extras."""
    claims: list[str] = []
    for claim in (
        claim for extra in extras for claim in PROJECT["optional-dependencies"][extra]
    ):
        own = re.fullmatch(r"psips\[(.*)\]", claim)
        claims += required(own[1].split(",")) if own else [claim]
    return claims


claims = required([word for word in sys.argv[1:] if word != "--lowest"])
if "--lowest" in sys.argv:
    claims = [claim.replace(">=", "==") for claim in [*PROJECT["dependencies"], *claims]]
print("\n".join(claims))
