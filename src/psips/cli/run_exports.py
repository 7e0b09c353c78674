"""Files that ``psips run`` writes, by their endings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from psips.cli.writing import check_target, write_whole
from psips.errors import InputError, quote, unknown

if TYPE_CHECKING:
    from psips.commands.found import Found

ENDINGS = (".json", ".csv", ".md", ".html")


def check_exports(paths: Sequence[Path], force: bool) -> None:
    """Refuse files that cannot be written, before anything is run."""
    for path in paths:
        if path.suffix not in ENDINGS:
            raise unknown("kind of file for --export", path.suffix or str(path), ENDINGS)
        if not path.parent.is_dir():
            raise InputError(f"--export {path}: there is no folder {quote(str(path.parent))}")
        check_target(path, force)


def write_exports(paths: Sequence[Path], found: Found) -> None:
    """Write the result of a comparison."""
    for path in paths:
        write_whole(path, _text_for(path.suffix, found))


def _text_for(ending: str, found: Found) -> str:
    if ending == ".json":
        from psips.input.escaping import as_json

        return as_json(found.to_dict()) + "\n"
    if ending == ".html":
        from psips.report.run import run_page

        return run_page(found)
    if ending == ".md":
        from psips.report.pull_request import run_comment

        return run_comment(found)
    from psips.commands.writing import as_csv

    return as_csv(found)
