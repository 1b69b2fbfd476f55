"""The text of a lowered function with names that do not depend on who lowered it.

Variables and buffers are called n0, n1, ... in the order in which they appear; types of first appearances go. So a
listing can be compared with a recorded one whose author chose other names.
"""

import re

__all__ = ["anonymous"]

_HANDLE = "@tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), dtype=handle)"
_TOKEN = re.compile(r'"[^"]*"|@tir(?:\.\w+)+|[A-Za-z_][\w.]*\(?')
_WORDS = {
    "IterVar(", "Pointer(", "attr", "allocate(", "cast(", "cthread", "dtype", "else", "handle", "if", "int32", "int8",
    "local.acc_buffer", "local.inp_buffer", "local.wgt_buffer", "max(", "min(", "nullptr", "storage_scope", "for",
}  # fmt: skip


def anonymous(listing: str) -> str:
    """Return the body of the function in ``listing``, one statement a line, with anonymous names."""
    lines = listing.strip().splitlines()
    header = next(i for i, line in enumerate(lines) if "preflattened_buffer_map" in line)
    text = "\n".join(lines[header + 1 : -1]).replace(_HANDLE, "HANDLE")
    text = re.sub(r": Buffer\([^)]*\)(?=\[)", "", text)
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        token = match[0]
        if token[0] in '"@' or token in _WORDS or token == "HANDLE":
            return token
        if re.fullmatch(r"vta(_\d+)?", token):
            return "vta"
        name = token.removesuffix("(")
        return names.setdefault(name, f"n{len(names)}") + token[len(name) :]

    return _TOKEN.sub(rename, text).replace(": int32", "")
