"""The process that fuzzes one format, for ``bench.coverage_fuzz``: ``python -m bench.fuzz_child FORMAT LIBFUZZER...``.

Nothing of ours is imported before atheris has seen to it that what is imported counts its branches.
Tests: tests/bench/test_fuzz_corpus.py.
"""

import random
import sys
from contextlib import suppress

import atheris

__all__ = ["main"]


def main(name: str, words: list[str]) -> None:
    """Fuzz one format; the process ends with it."""
    with atheris.instrument_imports(include=["isa", "runtime", "vta"]):
        from bench.parsers import ALL_FORMATS, PARSERS
        from isa.errors import VTAError
    parse, mutate = PARSERS[name], ALL_FORMATS[name].mutate

    def one(data: bytes) -> None:
        with suppress(VTAError):
            parse(data)

    def other(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            made = b""
            with suppress(Exception):  # what is no file of its kind any more is changed by libFuzzer alone
                made = mutate(rng, data)
            if 0 < len(made) <= most:
                return made
        mutated: bytes = atheris.Mutate(data, most)
        return mutated

    atheris.Setup([sys.argv[0], *words], one, custom_mutator=other)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
