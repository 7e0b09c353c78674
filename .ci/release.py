"""Print what the changelog says of a version, if all files agree on it: .ci/release.py TAG."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def notes(tag: str, root: Path) -> str:
    """Return the section of the changelog for a tag; end with a sentence where files differ."""
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if tag != f"v{version}":
        sys.exit(
            f"the tag is {tag}, and pyproject.toml has version {version}: expected v{version}"
        )
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text("utf-8"), re.M)
    if not cited or cited[1] != version:
        sys.exit(f"CITATION.cff does not name version {version}: write 'version: {version}'")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)"
    section = re.search(heading, (root / "CHANGELOG.md").read_text("utf-8"), re.M | re.S)
    if not section:
        sys.exit(f"CHANGELOG.md has no section '## [{version}] - DATE': write one")
    return section[1].strip()


if __name__ == "__main__":
    print(notes(sys.argv[1], ROOT))
