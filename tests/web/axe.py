"""Pages looked over by axe-core, where it is installed: npm install --no-save axe-core."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

AXE = Path(
    os.environ.get("PSIPS_AXE")
    or Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
)


def look_over(page: Any) -> None:
    """Look for serious findings; without axe-core the rest of a test is run all the same."""
    if not AXE.is_file():
        assert not os.environ.get("CI"), f"axe-core must be there in CI, and is not in {AXE}"
        warnings.warn("axe-core is not installed: this page was not looked over", stacklevel=2)
        return
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(r => r.violations)")
    grave = [
        (one["id"], one["nodes"][0]["html"])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert grave == [], grave
