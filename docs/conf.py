"""The site: these pages, the interface from its docstrings, and examples that run as it is built.

``make docs`` builds it, without a network.
"""

from __future__ import annotations

from typing import Any

from pygments.lexers.sql import PostgresLexer

import dpforest

project = "dpforest"
author = "The dpforest developers"
project_copyright = author
release = version = dpforest.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "gallery/*.py",
    "gallery/*.ipynb",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
]
nitpicky = True
templates_path = ["_templates"]

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # docstrings give types in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "dpforest"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "use_edit_page_button": False,
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,  # an example that fails ends the build
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1,
    "within_subsection_order": "FileNameSortKey",
}


def _is_others(module: str) -> bool:
    """Whether a member is documented by the library that it comes from."""
    return module.partition(".")[0] in {"builtins", "enum", "pydantic", "sklearn", "typing"}


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other libraries."""
    home = getattr(member, "__module__", None) or getattr(
        getattr(member, "__objclass__", None), "__module__", None
    )
    if name == "maketrans":  # of str, whose signature cannot be read
        return True
    return True if name.startswith("model_") or (home and _is_others(home)) else None


def setup(app: Any) -> None:
    """Choose members, and read SQL as PostgreSQL does."""
    app.add_lexer("sql", PostgresLexer)
    app.connect("autodoc-skip-member", _skip)
