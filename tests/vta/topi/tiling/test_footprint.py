import pytest

from isa.config import VTAConfig
from vta.topi.tiling import Footprint, TilingError, require_fit

CONFIG = VTAConfig()


def test_what_there_is_fits() -> None:
    capacity = Footprint.capacity(CONFIG)
    assert capacity == Footprint(inp=2048, wgt=1024, acc=2048, uops=8192)
    assert capacity.fits(capacity)
    assert capacity.excess(CONFIG) == []
    require_fit(capacity, CONFIG, "a layer")


@pytest.mark.parametrize(
    ("footprint", "text"),
    [
        (Footprint(inp=2049), "the input buffer would need 2049 elements and has 2048 (16 bytes each)"),
        (Footprint(wgt=1025), "the weight buffer would need 1025 elements and has 1024 (256 bytes each)"),
        (Footprint(acc=4000), "the accumulator buffer would need 4000 elements and has 2048 (64 bytes each)"),
        (Footprint(uops=8193), "the micro-op buffer would need 8193 elements and has 8192 (4 bytes each)"),
    ],
)
def test_what_is_too_large_is_named_with_its_need_and_limit(footprint: Footprint, text: str) -> None:
    assert not footprint.fits(Footprint.capacity(CONFIG))
    with pytest.raises(TilingError) as caught:
        require_fit(footprint, CONFIG, "a layer")
    assert str(caught.value) == f"a layer: {text}; take smaller tiles or fewer copies"
