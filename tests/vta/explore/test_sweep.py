"""What a sweep is: names, values, every combination, and what cannot be."""

import pytest

from isa.config import VTAConfig
from vta.explore.sweep import ExploreError, points_of, swept


def test_every_combination_is_a_point_and_the_last_key_varies_first() -> None:
    points = points_of(["block=16,32", "bus=64,128"], VTAConfig(log_wgt_buff_size=16))
    assert [point.name for point in points] == [
        "block=16, bus=64", "block=16, bus=128", "block=32, bus=64", "block=32, bus=128",
    ]  # fmt: skip
    last = points[-1]
    assert last.config is not None
    assert last.setup is not None
    assert (last.config.block_in, last.config.block_out, last.config.log_wgt_buff_size) == (32, 32, 16)
    assert last.setup.hardware.data_width == 128


def test_short_names_are_bytes_and_lanes_and_every_other_key_is_itself() -> None:
    [point] = points_of(["acc=64K", "LOG_INP_BUFF_SIZE=14", "latency=40", "load_jobs=8"])
    assert point.config == VTAConfig(log_acc_buff_size=16, log_inp_buff_size=14)
    assert point.setup is not None
    assert (point.setup.latency, point.setup.hardware.load_jobs) == (40, 8)
    assert point.name == "acc=64K, LOG_INP_BUFF_SIZE=14, latency=40, load_jobs=8"


def test_without_a_sweep_there_is_one_point() -> None:
    [point] = points_of([], hardware={"data_width": 256})
    assert point.name == "as given"
    assert point.setup is not None
    assert point.setup.hardware.data_width == 256


@pytest.mark.parametrize(
    ("sweep", "problem"),
    [
        ("block=12", "block is 12, but it must be a power of two"),
        ("bus=96", "hardware: data_width is 96, but it must be one of 64, 128, 256, 512"),
        ("acc=0", "acc is 0, but it must be a power of two"),
    ],
)
def test_a_combination_that_cannot_be_says_why_and_stays(sweep: str, problem: str) -> None:
    [point] = points_of([sweep])
    assert point.config is None
    assert point.problem == problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block", "--sweep 'block': expected KEY=VALUE,VALUE, such as block=8,16,32"),
        ("block=8,,16", "--sweep 'block=8,,16': expected KEY=VALUE,VALUE, such as block=8,16,32"),
        ("blok=8", "--sweep 'blok=8': no key is called 'blok'; did you mean 'block'?"),
        ("block=big", "--sweep 'block=big': expected a whole number such as 16 or 128K, found 'big'"),
        ("acc=64K,65536", "--sweep 'acc=64K,65536': a value is given twice; give each once"),
        (
            "zzz=1",
            "--sweep 'zzz=1': no key is called 'zzz'; the short ones are block, block_in, block_out, batch, inp, wgt, "
            "acc, uop, bus, latency",
        ),
    ],
)
def test_a_bad_sweep_is_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ExploreError) as caught:
        swept(text)
    assert str(caught.value) == message


def test_a_key_is_swept_once_and_not_without_end() -> None:
    with pytest.raises(ExploreError) as caught:
        points_of(["bus=64", "data_width=128"])
    assert str(caught.value) == (
        "--sweep: data_width is swept twice, by bus and data_width; give all of its values at once"
    )
    many = ",".join(str(n) for n in range(1, 400))
    with pytest.raises(ExploreError) as caught:
        points_of([f"latency={many}", f"load_jobs={many}"])
    assert str(caught.value) == "--sweep: 159,201 combinations are more than the 100,000 that are looked at"
