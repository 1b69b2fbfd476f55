"""The page about ``--json``, from the schemas that nothing is printed without. Tests: tests/docs/test_json_page.py."""

from vta.cli.as_json import SCHEMAS, VERSION

__all__ = ["COMMANDS", "json_page"]

COMMANDS = ("run", "check", "diff", "explain", "config check", "config list", "doctor", "operators")
"""What prints an object; the others are parts of these."""

_INTRODUCTION = f"""\
# Output for programs

Generated from the schemas (`python -m docs.make_pages`). With `--json`, a command prints one JSON object on stdout, and
nothing else there; a script that `vta run` runs prints to stderr then. The keys below are all there in every object of
their kind, in this order, after `schema` (the number {VERSION}; it changes when a key goes or gets another meaning, not
when one is added) and `command`. Exit codes are as without `--json`: 0, 1 where something is wrong with the input or
what was asked about is not so, 2 for a wrong command line. Where a command cannot answer at all, stderr has its
sentence, and there is no object. `vta config show --json` prints the keys of a configuration instead, ready to be a
file.

A type is text, number, truth or any; `[x]` is a list, `{{x}}` an object from names to x; `x?` may be null.
"""


def json_page() -> str:
    """Return the text of docs/json.md."""
    parts = [_INTRODUCTION]
    for title, names in (("Commands", COMMANDS), ("Parts", [name for name in SCHEMAS if name not in COMMANDS])):
        parts.append(f"## {title}\n")
        for name in names:
            heading = f"`vta {name} --json`" if name in COMMANDS else f"`{name}`"
            rows = [f"| `{key}` | {kind} | {meaning} |" for key, (kind, meaning) in SCHEMAS[name].items()]
            parts.append("\n".join([f"### {heading}\n", "| key | type | meaning |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)
