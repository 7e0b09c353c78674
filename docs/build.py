"""Build the site, and check it: ``python docs/build.py`` (needs ``pip install -e '.[docs]'``).

1. The code of every page is run (``tests/test_pages.py``); ``--no-pages`` leaves that out.
2. Sphinx runs the examples and writes the pages; a warning is an error.
3. Every link within the site must lead to a page and a place that exist.

The site is in ``docs/_build/html``. Nothing is fetched from the network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SITE = HERE / "_build" / "html"


def main() -> int:
    """Do the steps in their order; stop at the first that fails."""
    parser = argparse.ArgumentParser(description="Build the site, and check it.")
    parser.add_argument("--no-pages", action="store_true", help="do not run the pages' code")
    parser.add_argument("--fresh", action="store_true", help="forget earlier builds")
    asked = parser.parse_args()
    if asked.fresh:
        for folder in ("_build", "_generated", "gallery"):
            shutil.rmtree(HERE / folder, ignore_errors=True)
    steps = [
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", HERE, SITE],
        [sys.executable, HERE / "links.py", SITE],
    ]
    if not asked.no_pages:
        steps.insert(
            0, [sys.executable, "-m", "pytest", HERE.parent / "tests" / "test_pages.py"]
        )
    for step in steps:
        code = subprocess.run([str(word) for word in step], check=False).returncode
        if code:
            return code
    print(f"the site is in {SITE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
