"""The collector of garbage is off within, and afterwards (after an error, too) as it was before."""

import gc

import pytest

from runtime.native.garbage import no_collection


@pytest.mark.parametrize("before", [False, True])
def test_the_collector_is_off_within_and_as_it_was_afterwards(before: bool) -> None:
    was_on = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        with no_collection():
            assert not gc.isenabled()
            with pytest.raises(KeyError), no_collection():
                raise KeyError
            assert not gc.isenabled()
        assert gc.isenabled() is before
    finally:
        (gc.enable if was_on else gc.disable)()
