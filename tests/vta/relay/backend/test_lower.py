"""Operators as launches without addresses: kept on disk, compiled once, refused in a sentence."""

from pathlib import Path

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from vta.relay.backend import lower
from vta.relay.backend.lower import Lowered, lowered
from vta.topi import Conv2d, Dense
from vta.topi.core.epilogue import Clip

CONFIG = VTAConfig()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def words(made: Lowered | str) -> list[object]:
    assert isinstance(made, Lowered)
    return [launch.array.tolist() for launch in made.launches] + [made.arguments]


def test_what_is_kept_is_what_was_compiled(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operators = [
        Dense(1, 40, 20, (Clip(-128, 127),)),
        Conv2d(1, 8, 5, 5, 16, (3, 3)),
        Dense(1, 40, 20, (Clip(-128, 127),)),
    ]
    seen: list[int] = []
    first = lowered(operators, CONFIG, progress=seen.append)
    assert seen == [1, 2]  # equal operators are compiled once
    assert first[0] is first[2]
    monkeypatch.setattr(lower, "lowered_here", None)  # nothing is compiled any more
    second = lowered(operators, CONFIG)
    assert [words(made) for made in first] == [words(made) for made in second]


def test_damaged_files_count_as_missing(own_cache: Path) -> None:
    operators = [Dense(1, 16, 16, (Clip(-128, 127),))]
    [first] = lowered(operators, CONFIG)
    for path in own_cache.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-7])
    [second] = lowered(operators, CONFIG)
    assert words(first) == words(second)


def test_a_refusal_is_a_sentence() -> None:
    [made] = lowered([Conv2d(1, 16, 4, 3000, 16, (1, 2000), epilogue=(Clip(-128, 127),))], CONFIG, cache=False)
    assert isinstance(made, str)
    assert "Conv2d" in made


def test_the_environment_does_not_matter() -> None:
    other = vta.Environment(CONFIGS["b1k8"])
    operator = Dense(1, 16, 16, (Clip(-128, 127),))
    with other:
        [inside] = lowered([operator], CONFIG, cache=False)
    [outside] = lowered([operator], CONFIG, cache=False)
    assert words(inside) == words(outside)
    assert isinstance(outside, Lowered)
    np.testing.assert_array_equal(outside.arguments[0][0], (1, 1, 1, 16))
