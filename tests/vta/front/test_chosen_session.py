"""A session that was chosen for everything inside."""

import pytest

import vta
from isa.config import VTAConfig
from runtime.session import Session, SessionError
from vta.chosen_session import chosen_session, session_chosen

OTHER = VTAConfig(log_uop_buff_size=13)


def test_environments_inside_run_on_it_and_those_outside_do_not() -> None:
    session, env = Session(VTAConfig(), "reference"), vta.Environment(VTAConfig())
    assert chosen_session() is None
    with session_chosen(session):
        assert env.session is env.given_session is session
        assert vta.Environment(VTAConfig(target="tsim")).session is session
        with env:
            assert vta.nd.ext_dev(0).session is session
    assert chosen_session() is None
    assert env.given_session is None
    assert env.session is not session


def test_what_an_environment_was_given_goes_first() -> None:
    mine, other = Session(VTAConfig(), "reference"), Session(VTAConfig(), "reference")
    env = vta.Environment(VTAConfig())
    env.run_on(mine)
    with session_chosen(other):
        assert env.session is mine


def test_another_configuration_is_refused_naming_both() -> None:
    with session_chosen(Session(VTAConfig(), "reference")), pytest.raises(SessionError) as caught:
        _ = vta.Environment(OTHER).session
    assert str(caught.value) == (
        f"the environment is for {OTHER.bitstream} (digest {OTHER.digest}), and device 'reference' is "
        f"{VTAConfig().bitstream} (digest {VTAConfig().digest}); build it for this configuration"
    )


def test_hardware_to_simulate_is_refused() -> None:
    env = vta.Environment(VTAConfig(), hardware={"data_width": 128})
    with session_chosen(Session(VTAConfig(), "reference")), pytest.raises(SessionError) as caught:
        _ = env.session
    assert str(caught.value) == (
        "the environment says what hardware to simulate, and runs on device 'reference', which is what it is; leave "
        "hardware= out"
    )
