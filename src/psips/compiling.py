"""Where compiled code is kept, and the word that is said while something is compiled.

Numba keeps compiled code beside the source or, if that cannot be written to, in the user's
cache. In a container there may be neither: a folder for temporary files then serves.
"""

from __future__ import annotations

import os
import sys

SETTING = "NUMBA_CACHE_DIR"

_temporary = ""  # the folder that stands in for numba's own places, if one has to
_watching = False


def prepare_cache() -> None:
    """See to it that numba finds a place for compiled code; quick, and changes nothing else.

    Must come before numba is imported.
    """
    global _temporary
    here = os.path.dirname(os.path.abspath(__file__))
    places = (os.path.join(here, "kernels", "__pycache__"), _users_cache())
    if os.environ.get(SETTING) or any(map(_writable, places)):
        return
    _temporary = _temporary_folder()
    os.environ[SETTING] = _temporary  # for processes that are started from here, too
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = _temporary


def watch() -> None:
    """Say so, once and on standard error, if kernels have to be compiled.

    It is a warning of the logger ``psips``, so that programs can send it elsewhere.
    """
    global _watching
    if _watching:
        return
    _watching = True
    from numba.core import event

    class Word(event.Listener):
        said = False

        def on_start(self, event: object) -> None:
            of_whom = event.data["dispatcher"].py_func.__module__  # type: ignore[attr-defined]
            if not self.said and of_whom.startswith("psips."):
                self.said = True
                _say()

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Word())  # type: ignore[no-untyped-call]


def _say() -> None:
    import logging

    text = "psips: compiling for the first time on this machine, which takes up to a minute"
    if _temporary:
        text += (
            f" (compiled code is kept in {_temporary}, because neither the installation nor "
            f"the home folder can be written to; set {SETTING} to a better place)"
        )
    logging.getLogger("psips").warning(text)


def _users_cache() -> str:
    """Return where numba keeps what it cannot keep beside the source."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/numba")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA", os.path.expanduser("~")), "numba")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "numba")


def _writable(folder: str) -> bool:
    """Whether files can be made in a folder, which itself may have to be made."""
    while not os.path.isdir(folder):
        above = os.path.dirname(folder)
        if above == folder or os.path.lexists(folder):
            return False
        folder = above
    return os.access(folder, os.W_OK | os.X_OK)


def _temporary_folder() -> str:
    """Return a folder for temporary files that is the user's alone.

    Compiled code is run when it is loaded, so nobody else may have put it there.
    """
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = os.path.join(tempfile.gettempdir(), f"psips-compiled-{user}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not (mine and os.path.isdir(folder) and not os.path.islink(folder)):
            return tempfile.mkdtemp(prefix="psips-compiled-")
        if hasattr(os, "getuid") and found.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="psips-compiled-")
    return folder
