"""The version of psips, the same as in pyproject.toml, and the commit that was built."""

from pathlib import Path

__version__ = "0.2.0"


def build_version() -> str:
    """Return the version, and the commit of this build where the build knew it.

    The build backend writes the commit next to this file. In an editable installation it is
    that of the last build of the core, and what is imported may be newer.
    """
    file = Path(__file__).with_name("_commit.txt")
    try:
        commit = file.read_text(encoding="utf-8").strip()
    except OSError:
        return __version__
    return f"{__version__} ({commit})" if commit else __version__
