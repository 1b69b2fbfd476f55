"""The text around the steps."""

from runtime.executor.network import Network
from tests.support.relay.random_host_steps import chain
from tests.support.runtime.small_networks import small_network
from vta.relay.c.host_steps import host_code
from vta.relay.c.memory_image import MemoryImage
from vta.relay.c.pointers import Pointers
from vta.relay.c.source import header_text, source_text


def texts(network: Network) -> tuple[str, str]:
    code = host_code(network)
    pointers = Pointers.of(network, MemoryImage.of(network), code)
    return header_text(pointers, "net"), source_text(pointers, "net", code)


def test_inputs_on_the_device_are_copied_and_flushed_and_outputs_invalidated_and_copied() -> None:
    small = small_network()
    header, source = texts(small.network)
    image = MemoryImage.of(small.network)
    at, result = image.offsets["image"], image.offsets["result"]
    nbytes, made = small.image.nbytes, small.expected.nbytes
    assert "int net_run(struct vta_board *board, const int8_t *image, int8_t *result);" in header
    run = source[source.index("int net_run") :].split("\n")
    assert run[2:14] == [
        "    int status;",
        "    if (board->image != &network_image)",
        "        return VTA_NOT_LOADED;",
        f"    memcpy((int8_t *)(board->memory + {at}), image, {nbytes});",
        f"    vta_flush(board, {at}, {nbytes});",
        "    /* conv */",
        f"    if ((status = vta_launch(board, &network_image, 0, {image.launches[0][0].count})) != VTA_OK)",
        "        return status;",
        f"    vta_invalidate(board, {result}, {made});",
        f"    memcpy(result, (int8_t *)(board->memory + {result}), {made});",
        "    return VTA_OK;",
        "}",
    ]


def test_a_network_of_the_host_alone_declares_nothing_that_it_does_not_use() -> None:
    _, source = texts(chain((2,), "nn.relu"))
    assert "int status" not in source
    assert "host_memory" not in source
    assert f"UINT64_C(0x{chain((2,), 'nn.relu').config.digest})" in source
