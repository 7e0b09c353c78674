"""Where compiled code is kept, and the word that is said while something is compiled.

Numba keeps compiled code next to the source or, if that cannot be written to, in the user's
cache; NUMBA_CACHE_DIR names another place. Compiled code is run when it is loaded, so a place
that another user owns or can write to is not used. A private folder for temporary files then
serves, as it does where there is no place at all, in a container for example.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

SETTING = "NUMBA_CACHE_DIR"
MARK = "psips-compiled"  # a file next to compiled code: that it takes time has been said

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")

_temporary = ""  # the folder that stands in for numba's own places, if one has to
_reason = ""  # why it does
_watching = False


def prepare_cache() -> None:
    """See to it that numba finds a place for compiled code; quick, and changes nothing else.

    Must come before numba is imported.
    """
    global _temporary, _reason
    given = os.environ.get(SETTING)
    if given:
        with suppress(OSError):
            os.makedirs(given, 0o700, exist_ok=True)  # ours, before anybody else makes it
    places = [given or "", os.path.join(HERE, "__pycache__"), _users_cache()]
    place = next((os.path.abspath(one) for one in places if one and _writable(one)), "")
    if place and _trusted(place):
        return
    _reason = "neither the installation nor the home folder can be written to"
    if place:
        _reason = f"another user owns {place} or can write to it"
    _temporary = _temporary_folder()
    os.environ[SETTING] = _temporary  # for processes that are started from here, too
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = _temporary


def watch() -> None:
    """Say so, on standard error, when kernels have to be compiled for the first time.

    Other commands compile a few kernels more the first time, without a word.
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
                if _first_time():
                    _say()

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Word())  # type: ignore[no-untyped-call]


def _first_time() -> bool:
    """Whether nothing was compiled yet of the kernels as they are; note that it is now."""
    places = [os.environ.get(SETTING, ""), os.path.join(HERE, "__pycache__"), _users_cache()]
    place = next((one for one in places if one and _writable(one)), "")
    mark = os.path.join(place, MARK)
    try:
        sources = [one.stat().st_mtime for one in os.scandir(HERE) if one.name.endswith(".py")]
        if os.path.exists(mark) and os.stat(mark).st_mtime > max(sources):
            return False
        os.makedirs(place, exist_ok=True)
        with open(mark, "w", encoding="ascii"):
            os.utime(mark)
    except OSError:
        pass  # said once more than needed
    return True


def _say() -> None:
    import logging

    text = "psips: compiling for the first time on this machine, which takes up to a minute"
    if _temporary:
        text += (
            f" (compiled code is kept in {_temporary}, because {_reason}; set {SETTING} to a "
            f"folder that is yours alone)"
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
    nearest = _nearest(folder)
    return os.path.isdir(nearest) and os.access(nearest, os.R_OK | os.W_OK | os.X_OK)


def _nearest(folder: str) -> str:
    """Return the folder, or the one above in which it would have to be made."""
    folder = os.path.abspath(folder)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder


def _trusted(folder: str) -> bool:
    """Whether nobody else can have put code into a folder or those directly in it.

    Whoever owns the source could: its owner is trusted, as the user and root are.
    """
    if not hasattr(os, "getuid"):
        return True
    nearest, user = _nearest(folder), os.getuid()
    with os.scandir(nearest) as entries:
        inside = [one.path for one in entries if one.is_dir()] if nearest == folder else []
    owners = {user, 0, os.stat(HERE).st_uid}
    for found in map(os.stat, [nearest, *inside]):
        private = found.st_gid == user  # the group that many systems give each user
        if found.st_uid not in owners or found.st_mode & (0o002 if private else 0o022):
            return False
    return True


def _temporary_folder() -> str:
    """Return a folder for temporary files that is the user's alone."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = os.path.join(tempfile.gettempdir(), f"psips-compiled-{user}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.path.islink(folder) or not os.path.isdir(folder) or not _trusted(folder):
            return tempfile.mkdtemp(prefix="psips-compiled-")
    return folder
