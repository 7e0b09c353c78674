"""Plotly's script, which the Python package of that name brings along, served from here."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.metadata import version
from importlib.resources import files

PLOTLY = f"/static/plotly-{version('plotly')}.js"


@cache
def script() -> bytes:
    """Return the script, compressed with gzip: a quarter of its 4.8 MB."""
    whole = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return gzip.compress(whole, 6, mtime=0)
