"""How Sphinx makes the site of these pages: `./dev docs`.

The pages are plain Markdown, readable wherever they lie. Two things are added while building: index.md's
lists become the table of contents, and the names that api.md lists become their documentation.
"""

import dataclasses
import importlib
import inspect
import re
import typing

project = "polygait"
author = "The polygait authors"
html_title = "polygait"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["results/*/tables", "results/*/figures"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b63a5", "color-brand-content": "#0b63a5"},
    "dark_css_variables": {"color-brand-primary": "#6cb6f5", "color-brand-content": "#6cb6f5"},
}
_SECTION = re.compile(r"^## (?P<title>[^\n]+)$\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PAGE = re.compile(r"\]\(([\w/-]+)\.md\)")
_NAME = re.compile(r"^- `(?:pg|polygait)\.([\w.]+)`: .*$", re.MULTILINE)


def contents(index):
    """The pages that index.md lists, by section."""
    return {part["title"]: _PAGE.findall(part["body"]) for part in _SECTION.finditer(index)}


def toctrees(index):
    """The same as Sphinx wants it."""
    trees = [
        "```{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n```".format(title, "\n".join(pages))
        for title, pages in contents(index).items()
    ]
    return "\n\n".join(trees)


def directive(name):
    """How the documentation of a public name is asked for."""
    module, _, last = f"polygait.{name}".rpartition(".")
    found = getattr(importlib.import_module(module), last)
    if dataclasses.is_dataclass(found):  # readers need not know what the command line notes beside a type
        hints = typing.get_type_hints(found)
        found.__annotations__.update({field: hints[field] for field in found.__annotations__})
        found.__init__.__annotations__.update({**hints, "return": None})
    kind = "function" if inspect.isfunction(found) else "class" if inspect.isclass(found) else "data"
    return f"```{{eval-rst}}\n.. auto{kind}:: polygait.{name}\n```\n"


def complete(app, name, source):
    """Add to a page what its Markdown leaves to the site."""
    if name == "index":
        source[0] += "\n\n" + toctrees(source[0])
    elif name == "api":
        source[0] = _NAME.sub(lambda match: directive(match[1]), source[0])
    source[0] = re.sub(r" ± |(?<=\d) %", lambda match: match[0].replace(" ", "\u00a0"), source[0])


def as_rst(app, what, name, item, options, lines):
    """Docstrings speak plain text: code between single backquotes or indented."""
    text = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", "\n".join(lines))
    text = re.sub(r"(?<!:)(\n\n)(?=    \S)", r"\n\n::\n\n", text)
    lines[:] = [
        line if line.startswith("    ") else re.sub(r"(``.*?``)|\*", lambda match: match[1] or r"\*", line)
        for line in text.split("\n")
    ]


def setup(app):
    """Tell Sphinx of what is added."""
    app.connect("source-read", complete)
    app.connect("autodoc-process-docstring", as_rst)
