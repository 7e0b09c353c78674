"""How the site is built: `python docs/build.py`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from docutils import nodes
from docutils.utils.math import latex2mathml
from pygments.lexers.special import TextLexer

from psips import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate

project = "psips"
copyright = "the authors of psips"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py"]
suppress_warnings = [
    "config.cache",  # the settings of the gallery have a function in them
    "myst.xref_missing",  # links within a page to places made by HTML; links.py looks for them
]
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

# Names of other projects become links if their lists can be fetched: PSIPS_DOCS_LINKS=1. A
# build uses no network otherwise.
intersphinx_mapping = (
    {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }
    if os.environ.get("PSIPS_DOCS_LINKS")
    else {}
)

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "remove_config_comments": True,
    "plot_gallery": True,
    "thumbnail_size": (480, 320),
    "ignore_repr_types": r"matplotlib\.(axes|figure|legend|text)",
    "capture_repr": ("_repr_html_", "__repr__"),
    "reset_modules": (lambda _conf, _file: _plain_figures(),),
}

html_theme = "furo"
html_title = "psips"
html_static_path = ["_static"]
html_extra_path = sorted(path.name for path in HERE.glob("*.csv"))
html_css_files = ["site.css"]
html_js_files = [("search.js", {"defer": "defer"})]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#00618f"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#7cc3ee"},
}


def _plain_figures() -> None:
    """Each example begins with the same look of figures."""
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.rcParams.update(
        {"figure.dpi": 110, "font.size": 10, "figure.constrained_layout.use": True}
    )


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append('<div class="math">')
    self.body.append(latex2mathml.tex2mathml(node.astext(), as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _link_tables(page: str, source: list[str]) -> None:
    """Lead from a file of a table to the page on which it can be searched."""
    if not page.startswith("tables/"):
        for path in (HERE / "tables").glob("*.md"):
            source[0] = source[0].replace(f"({path.stem}.csv)", f"(tables/{path.name})")


def setup(app: Any) -> None:
    """Formulas as MathML, which browsers read without scripts; pages made from the code."""
    app.add_lexer("csv", TextLexer)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("config-inited", lambda app, _: generate.write_pages(Path(app.srcdir)))
    app.connect("source-read", lambda _, page, source: _link_tables(page, source))
