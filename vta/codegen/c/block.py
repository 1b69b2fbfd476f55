"""C text as it is written: lines with their depth, variables that have a value already, names that are not taken.

Tests: tests/vta/codegen/c/test_block.py.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["KEYWORDS", "Writer"]

KEYWORDS = frozenset(
    [
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "false",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "true",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "workspace",
        "INFINITY",
        "NAN",
        "main",
    ]
)


class Writer:
    """Writes a function's body; equal right-hand sides of one statement become one variable.

    Memory does not change within a statement, so loads are such right-hand sides as well.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._known: list[dict[str, str]] = [{}]
        self._count = 0
        self._names: set[str] = set()

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self._depth + text)

    def named_like(self, wanted: str) -> str:
        """Return a name of the function's own that looks like ``wanted``."""
        base = re.sub(r"\W", "_", wanted) or "_"
        if not base[0].isalpha() or base in KEYWORDS or re.fullmatch(r"t\d+", base):
            base = f"v_{base}"
        name, more = base, 0
        while name in self._names:
            more += 1
            name = f"{base}_{more}"
        self._names.add(name)
        return name

    def value(self, kind: str, text: str) -> str:
        """Return the variable of type ``kind`` that has the value ``text``, and write it if there is none yet."""
        for known in self._known:
            if text in known:
                return known[text]
        name = self.variable()
        self.line(f"const {kind} {name} = {text};")
        self._known[-1][text] = name
        return name

    @contextmanager
    def defined(self, declaration: str, name: str) -> Iterator[None]:
        """Write what defines ``name``; if nothing that is written meanwhile reads it, say so to the compiler."""
        self.line(declaration)
        place = len(self.lines)
        yield
        if not any(re.search(rf"\b{name}\b", line) for line in self.lines[place:]):
            self.lines.insert(place, "    " * self._depth + f"(void){name};")

    def variable(self) -> str:
        """Return the name of a new variable for a value in between."""
        self._count += 1
        return f"t{self._count}"

    def forget(self) -> None:
        """Forget what has been loaded and computed: a statement has ended."""
        self._known[-1] = {}

    @contextmanager
    def block(self, head: str, *, of_statements: bool = False) -> Iterator[None]:
        """Write ``head``, what is written meanwhile one deeper, and its end; nothing of it is known afterwards.

        In a block of statements, which may change memory or be repeated, nothing is known at its beginning either.
        """
        self.line(head)
        self._depth += 1
        before = self._known
        self._known = [{}] if of_statements else [*before, {}]
        yield
        self._known = [{}] if of_statements else before
        self._depth -= 1
        self.line("}")
