"""A network's memory: areas that do not overlap, words whose addresses count from its beginning."""

import numpy as np

from isa.bulk import decode_fields
from isa.instructions import MemoryId
from tests.support.runtime.small_networks import small_network
from vta.relay.c.memory_image import MemoryImage


def test_words_refer_to_tensors_and_micro_ops_where_they_lie() -> None:
    network = small_network().network
    image = MemoryImage.of(network)
    config = network.config
    [(launch,)] = image.launches.values()
    words = image.data[launch.offset : launch.offset + 16 * launch.count].view("<u8").reshape(-1, 2)
    loads = decode_fields(words, config)["LOAD"].columns
    stores = decode_fields(words, config)["STORE"].columns
    begin = {
        MemoryId.INP: (image.offsets["image"], network.tensor("image").nbytes),
        MemoryId.WGT: (image.offsets["weights"], network.tensor("weights").nbytes),
    }
    for memory, (at, nbytes) in begin.items():
        is_it = (loads["memory"] == memory) & (loads["x_size"] > 0) & (loads["y_size"] > 0)
        places = loads["dram_base"][is_it].astype(np.int64) * config.elem_bytes(memory)
        assert places.size
        assert places.min() == at
        assert places.max() < at + nbytes
    uops = loads["dram_base"][loads["memory"] == MemoryId.UOP].astype(np.int64) * 4
    assert 16 * launch.count <= uops.min()
    assert uops.max() < image.offsets["weights"]
    out = stores["dram_base"].astype(np.int64) * config.elem_bytes(MemoryId.OUT)
    assert out.min() == image.offsets["result"]


def test_the_image_ends_before_the_arena_and_has_the_constants() -> None:
    network = small_network().network
    image = MemoryImage.of(network)
    at = image.offsets["weights"]
    np.testing.assert_array_equal(image.data[at : at + len(network.constants)], network.constants)
    assert len(image.data) <= image.nbytes - network.arena_bytes
    assert image.nbytes == image.offsets["image"] - network.tensor("image").offset + network.arena_bytes
    assert all(offset % 4096 == network.tensor(name).offset % 4096 for name, offset in image.offsets.items())
