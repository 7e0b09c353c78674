"""An instance by name, or by the path of a problem file."""

from __future__ import annotations

import os
from typing import Any

from psips.errors import InputError, unknown
from psips.lab.instances import BUILDERS, instance
from psips.problem.instances import Instance
from psips.problem.problem_file import read_problem_file


def load(name_or_path: str | os.PathLike[str], **params: Any) -> Instance:
    """Built-in instance by name, or the instance of a TOML problem file by path.

    See Also
    --------
    psips.problem.problem_file.read_problem_file : what the file may contain.
    """
    text = os.fspath(name_or_path)
    if text in BUILDERS:
        return instance(text, **params)
    if isinstance(name_or_path, str) and not (text.endswith(".toml") or os.path.exists(text)):
        raise unknown("instance (a problem file's path ends in .toml)", text, list(BUILDERS))
    if params:
        raise InputError(f"a problem file takes no parameters, got {next(iter(params))!r}")
    return read_problem_file(text).instance
