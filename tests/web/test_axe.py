"""What is not looked over is said, and in CI it fails; the rest of its test is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from web import axe


def test_a_missing_axe_skips_itself_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(axe, "AXE", tmp_path / "none.js")
    monkeypatch.delenv("CI", raising=False)
    with pytest.warns(UserWarning, match="was not looked over"):
        axe.look_over(None)  # and on it goes
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="axe-core must be there in CI"):
        axe.look_over(None)


@pytest.mark.parametrize(("impact", "fine"), [("critical", False), ("minor", True)])
def test_grave_findings_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impact: str, fine: bool
) -> None:
    class Page:
        def evaluate(self, script: str) -> object:
            return [{"id": "label", "impact": impact, "nodes": [{"html": "<input>"}]}]

    (tmp_path / "axe.js").write_text("")
    monkeypatch.setattr(axe, "AXE", tmp_path / "axe.js")
    if fine:
        axe.look_over(Page())
    else:
        with pytest.raises(AssertionError, match="label"):
            axe.look_over(Page())
