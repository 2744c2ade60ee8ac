"""Let the reference show doctests as code: an extension of Griffe, which reads the docstrings for mkdocstrings."""

import re
from typing import Any

import griffe

HEADING = "\n\nExamples\n--------\n"


class DoctestSections(griffe.Extension):
    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put a heading before the first doctest of a docstring that has none; without it, `>>>` is a quotation."""
        if obj.docstring and HEADING not in obj.docstring.value:
            obj.docstring.value = re.sub(r"\n\n(?=>>> )", HEADING, obj.docstring.value, count=1)
