"""``graph_pack``: start and stop by name, by index, or none; what is not there is named with what there is."""

import pytest

import vta
from runtime.executor.operators.types import RelayError
from tests.support.relay.float_models import small_network
from vta.relay.front.frontend import from_onnx
from vta.relay.ir.traverse import calls
from vta.top import graph_pack

FUNCTION = from_onnx(small_network(), {"image": (1, 3, 8, 8)})[0]["main"]
NAMES = [str(call.callee) for call in calls(FUNCTION)]


def test_br_109_the_region_is_named_numbered_or_found() -> None:
    env = vta.get_env()
    blocks = (env.BATCH, env.BLOCK_OUT, env.WGT_WIDTH)
    assert graph_pack(FUNCTION, *blocks) is FUNCTION
    assert graph_pack(FUNCTION, *blocks, start_name=None, stop_name=None) is FUNCTION
    first, last = NAMES.index("nn.relu"), len(NAMES) - 1
    assert graph_pack(FUNCTION, *blocks, "nn.relu", None, start_name_idx=first, stop_name_idx=last) is FUNCTION


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"start_name": "nn.max_pool"}, "graph_pack: no operator 'nn.max_pool' to start at; did you mean "),
        (
            {"start_name": "nn.relu", "start_name_idx": 0},
            f"graph_pack: start 'nn.relu' is said to be operator 0, which is {NAMES[0]!r}",
        ),
        ({"start_name_idx": 99}, f"graph_pack: start 'nn.max_pool2d' is said to be operator 99, which of {len(NAMES)}"),
        ({"count_meta": True}, "graph_pack: count_meta is not supported; count operators, without constants"),
        (
            {"start_name": "nn.global_avg_pool2d", "stop_name": "nn.max_pool2d"},
            "graph_pack: start 'nn.global_avg_pool2d' is number ",
        ),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, object], sentence: str) -> None:
    env = vta.get_env()
    with pytest.raises(RelayError) as caught:
        graph_pack(FUNCTION, env.BATCH, env.BLOCK_OUT, env.WGT_WIDTH, **options)
    assert str(caught.value).startswith(sentence)


def test_blocks_are_the_environments() -> None:
    with pytest.raises(RelayError, match=r"^graph_pack: batch, block and bits of weights are 1, 7 and 8, and the env"):
        graph_pack(FUNCTION, 1, 7, 8)
