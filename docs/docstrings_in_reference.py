"""Let the reference read docstrings as they are meant: an extension of Griffe, which reads them for mkdocstrings."""

import re
from typing import Any

import griffe

HEADING = "\n\nExamples\n--------\n"
SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?: {4}.*\n)+)", flags=re.MULTILINE)
MARKERS = {"Traced", "HostOnly"}  # for engines; to a user, Traced[float] is a float


class DocstringsInReference(griffe.Extension):
    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Head the doctests, which are quotations otherwise, and split entries such as `noise, cost_noise`."""
        if obj.docstring:
            text = obj.docstring.value
            if HEADING not in text:
                text = re.sub(r"\n\n(?=>>> )", HEADING, text, count=1)
            obj.docstring.value = SHARED.sub(split_entry, text)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        annotation = attr.annotation
        if isinstance(annotation, griffe.ExprSubscript) and str(annotation.left) in MARKERS:
            attr.annotation = annotation.slice


def split_entry(entry: re.Match[str]) -> str:
    """Return one entry per parameter: Griffe would show the first one's type and default for all."""
    return "".join(f"{name}\n{entry[2]}" for name in entry[1].split(", "))
