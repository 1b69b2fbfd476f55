"""Operators as launches without addresses: kept on disk, compiled once, refused in a sentence."""

from pathlib import Path

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from vta.relay.backend import lower
from vta.relay.backend.lower import Lowered, lowered, lowered_here
from vta.topi import Conv2d, ConvTiles, Dense
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.tuned import tuned_by
from vta.topi.matmul.matmul_schedule import MatmulTiles

ENV = vta.Environment(VTAConfig())


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
    first = lowered(operators, ENV, progress=seen.append)
    assert seen == [1, 2]  # equal operators are compiled once
    assert first[0] is first[2]
    monkeypatch.setattr(lower, "lowered_here", None)  # nothing is compiled any more
    second = lowered(operators, ENV)
    assert [words(made) for made in first] == [words(made) for made in second]


def test_damaged_files_count_as_missing(own_cache: Path) -> None:
    operators = [Dense(1, 16, 16, (Clip(-128, 127),))]
    [first] = lowered(operators, ENV)
    for path in own_cache.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-7])
    [second] = lowered(operators, ENV)
    assert words(first) == words(second)


def test_a_refusal_is_a_sentence() -> None:
    [made] = lowered([Conv2d(1, 16, 4, 3000, 16, (1, 2000), epilogue=(Clip(-128, 127),))], ENV, cache=False)
    assert isinstance(made, str)
    assert "Conv2d" in made


def test_the_environment_does_not_matter() -> None:
    other = vta.Environment(CONFIGS["b1k8"])
    operator = Dense(1, 16, 16, (Clip(-128, 127),))
    with other:
        [inside] = lowered([operator], ENV, cache=False)
    [outside] = lowered([operator], ENV, cache=False)
    assert words(inside) == words(outside)
    assert isinstance(outside, Lowered)
    np.testing.assert_array_equal(outside.arguments[0][0], (1, 1, 1, 16))


def test_tiles_are_for_the_hardware_and_those_that_were_tuned_go_before(own_cache: Path) -> None:
    layer = Conv2d(1, 64, 28, 28, 256, (1, 1), epilogue=(ShiftRight(8),))
    slow = vta.Environment(ENV.config, hardware={"data_width": 512, "memory_latency": 1000})
    tiles = ConvTiles(tile_h=7, tile_w=28, tile_co=1)
    made = [words(lowered([layer], env)[0]) for env in (ENV, slow)]
    assert made[0] != made[1]  # what is kept for one is not taken for the other
    with tuned_by(lambda operator, _: tiles if operator == layer else None):
        [tuned] = lowered([layer], ENV)
    assert words(tuned) == words(lowered_here(layer, ENV, tiles))
    assert words(tuned) != made[0]


def test_workers_take_tuned_tiles_along(own_cache: Path) -> None:
    layers = [Dense(4, 64, 16 * n, (Clip(-128, 127),)) for n in (2, 4)]
    tiles = MatmulTiles(1, 1, 1)
    with tuned_by(lambda *_: tiles):
        made = lowered(layers, ENV, jobs=2, cache=False)
    assert [words(each) for each in made] == [words(lowered_here(layer, ENV, tiles)) for layer in layers]
