"""Which operands the lanes of the GEMM core multiply in a depthwise step.

Tests: ``tests/hw/compute/test_stage_depthwise.py``; ports and resets: ``tests/hw/test_ports.py``,
``tests/hw/test_reset.py``.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Mux, Value

from isa.config import VTAConfig

__all__ = ["DepthwiseLanes"]


@dataclass(frozen=True, slots=True, eq=False)
class DepthwiseLanes:
    """The first lanes of a weight row multiply one input each: lane t number o of tap t, for row o; the others zeros.

    Two rows that share their multipliers have one input for both, so that the first lanes are the first row's and the
    lanes after them the second one's: its weights move there, and each row has zeros where the other one has weights.

    ``starting`` says that operands which are being registered are of a depthwise step, ``active`` that those in the
    registers are; ``window`` are the input elements of all taps in the registers. ``rows`` share multipliers.
    """

    config: VTAConfig
    rows: int
    starting: Value
    active: Value
    window: Value

    def kept_inputs(self, element: Value) -> Value:
        """Return what is registered of an input element for all rows: in a depthwise step, zeros for the last lanes."""
        return Cat(
            self._zero_if_starting(lane) if number % self.config.block_in >= self._taken else lane
            for number, lane in enumerate(_parts(element, self.config.inp_width))
        )

    def row_inputs(self, kept: Value, *, batch: int, row: int) -> Value:
        """Return the inputs of weight row ``row`` (and of the next one, if they share); ``kept`` are a batch row's."""
        config = self.config
        lanes = _parts(kept, config.inp_width)
        for lane in range(self._taken):
            owner, tap = divmod(lane, config.depthwise_taps)
            place = (tap * config.batch + batch) * config.block_in + row + owner
            lanes[lane] = Mux(self.active, self.window.word_select(place, config.inp_width), lanes[lane])
        return Cat(lanes)

    def kept_weights(self, element: Value) -> Value:
        """Return what is registered of a weight element."""
        if self.rows == 1:
            return element
        config, taps = self.config, self.config.depthwise_taps
        rows = [_parts(row, config.wgt_width) for row in _parts(element, config.block_in * config.wgt_width)]
        for first, second in zip(rows[::2], rows[1::2], strict=True):
            for tap in range(taps):
                first[taps + tap] = self._zero_if_starting(first[taps + tap])
                second[taps + tap] = Mux(self.starting, second[tap], second[taps + tap])
                second[tap] = self._zero_if_starting(second[tap])
        return Cat(Cat(row) for row in rows)

    @property
    def _taken(self) -> int:
        """Lanes that have inputs of their own."""
        return self.config.depthwise_taps * self.rows

    def _zero_if_starting(self, lane: Value) -> Value:
        return Mux(self.starting, Const(0, len(lane)), lane)


def _parts(value: Value, width: int) -> list[Value]:
    """Return the parts of ``width`` bits of a value, lowest first."""
    return [value[at : at + width] for at in range(0, len(value), width)]
