"""What a capsule holds: the machine, the launches with their memory, and how each of them ended.

Tests: tests/vta/inspect/capsule/test_capsule.py.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.machine.hardware_config import HardwareConfig
from isa.program import MemoryImage, Program
from runtime.devices.device import DEFAULT_LATENCY, Device, HardwareSetup
from runtime.session import Session

__all__ = ["Capsule", "CapsuleError", "DeviceSpec", "Outcome", "memory_digest"]

FINISHED = "finished"


class CapsuleError(VTAError, ValueError):
    """A file that is not a capsule, one that is damaged, or one that this version cannot run."""


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device by name, and for ``tsim`` the hardware's parameters, the memory's latency and the seed of its stalls."""

    device: str
    hardware: Mapping[str, int] = field(default_factory=dict)
    latency: int | None = None
    stall_seed: int | None = None

    @classmethod
    def of(cls, device: Device) -> "DeviceSpec":
        """Return the machine that ``device`` is."""
        setup = device.capabilities.setup
        if setup is None:
            return cls(device.name)
        return cls(device.name, asdict(setup.hardware), setup.latency, setup.stall_seed)

    def session(self, config: VTAConfig) -> Session:
        """Return a fresh session on such a machine; ``CapsuleError`` if the hardware has parameters unknown here.

        Parameters that it does not name have their defaults.
        """
        if self.latency is None and not self.hardware:
            return Session(config, self.device)
        unknown = self.hardware.keys() - {entry.name for entry in fields(HardwareConfig)}
        if unknown:
            raise CapsuleError(
                f"the capsule's hardware has the unknown {', '.join(sorted(unknown))}; "
                "replay it with the version that wrote it, or pack it again"
            )
        latency = DEFAULT_LATENCY if self.latency is None else self.latency
        setup = HardwareSetup(hardware=HardwareConfig(**self.hardware), latency=latency, stall_seed=self.stall_seed)
        return Session(config, self.device, setup=setup)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a launch ended: ``kind`` is ``finished`` or the class of the error, ``message`` what the error said.

    ``cycles`` it took where there is a clock; ``digest`` of the memory that the program names (``memory_digest``).
    """

    kind: str
    message: str
    cycles: int | None
    digest: str

    @property
    def failed(self) -> bool:
        """Whether it did not finish."""
        return self.kind != FINISHED

    @property
    def signature(self) -> str:
        """What two failures of one cause share: the kind, and the message without its numbers."""
        return f"{self.kind}: {re.sub(r'0x[0-9a-f]+|[0-9]+', 'N', self.message)}"


@dataclass(frozen=True, slots=True)
class Capsule:
    """Launches on a machine one after the other, what came of each, and the versions that it was made with."""

    spec: DeviceSpec
    programs: tuple[Program, ...]
    outcomes: tuple[Outcome, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def config(self) -> VTAConfig:
        """The configuration."""
        return self.programs[-1].config


def memory_digest(image: MemoryImage, memory: npt.NDArray[np.uint8]) -> str:
    """Return the SHA-256 of what ``memory`` has in the segments and outputs of ``image``, in order of address."""
    regions = {(segment.address, segment.nbytes) for segment in image.segments}
    regions |= {(output.address, output.nbytes) for output in image.outputs}
    digest = hashlib.sha256()
    for address, nbytes in sorted(regions):
        digest.update(f"{address:x} {nbytes:x}\n".encode())
        digest.update(memory[address : address + nbytes].tobytes())
    return digest.hexdigest()
