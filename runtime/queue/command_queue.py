"""The command queue: runtime calls in, instruction streams out.

Upstream's rules (``docs/runtime.md``) decide which instructions a sequence of calls becomes and where its tokens go. A
launch's micro-ops and instructions lie in two areas of device memory that are allocated at first use. Nothing that was
run before influences a program's stream: kernels are captured anew, the on-chip micro-op buffer counts as empty at each
launch, and tokens and pending pops end with the program.

Tests: ``tests/runtime/queue/test_command_queue.py`` and ``tests/runtime/test_golden_streams.py``.
"""

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from isa.config import VTAConfig
from isa.encoding import INSTRUCTION_BYTES
from isa.errors import VTAError
from isa.instructions import FUSED, AluOpcode, Finish, Load, MemoryId, MicroOp, Module, Store, numbered
from isa.origin import Origin
from runtime.devices.device import Device
from runtime.memory.device_memory import PAGE_BYTES, Allocation, DeviceMemory
from runtime.observe.graph_node import current_node
from runtime.queue.debug_flag import DebugFlag
from runtime.queue.ends.finer_ends import finer_ends
from runtime.queue.instruction_queue import DramSpan, Entry, InstructionQueue, known_module
from runtime.queue.kernel_lowering import KernelStep, UopBlock, lower_kernel
from runtime.queue.launch import build_launch, dram_base
from runtime.queue.launcher import AREA_BYTES, Launcher
from runtime.queue.serial import serialise
from runtime.queue.token_carry import TokenCarry
from runtime.queue.token_plan import passes_through_dram, plan_tokens
from runtime.queue.transfer import Piece, TileCopy, TransferLimits, known_memory, split_load, split_store
from runtime.queue.uop_cache import UopCache
from runtime.queue.uop_kernel import KernelError, KernelMode, KernelOperation, KernelRecorder, UopKernel

__all__ = ["INSTRUCTION_LIMIT", "UOP_LIMIT", "CommandQueue", "CommandQueueError", "DebugFlag"]

INSTRUCTION_LIMIT = AREA_BYTES // INSTRUCTION_BYTES - 6
"""Instructions that may be collected; the rest of the area is for those that end a launch."""

UOP_LIMIT = AREA_BYTES // 4
"""Micro-ops that the micro-op area holds."""

_ENDING = 7
"""Instructions that a synchronise adds at most: two no-ops each for load and store, two for compute, FINISH."""


class CommandQueueError(VTAError, RuntimeError):
    """A use of the queue that no program could make."""


class CommandQueue:
    """Collects the calls of one program after the other and runs them on ``device``.

    Parameters
    ----------
    instruction_limit:
        Instructions that are collected before a launch is forced; a smaller number than the default is for tests.
    uop_limit:
        Micro-ops that are collected before a launch is forced; at least as many as fit on chip.
    area_bytes:
        Bytes of memory for instructions, and for micro-ops: 4 KiB and all that fit on chip at least.
    record:
        Whether to keep every launch in ``launcher.launches``.

    Attributes
    ----------
    launcher:
        Memory areas, the launches that ran, and who is told of them.
    origin:
        Called once for each runtime call; what it returns is the origin of the instructions that the call makes.
    plans_tokens:
        The program gives no tokens, or not all: the queue finds them itself. Ends with the program.
    """

    def __init__(
        self,
        config: VTAConfig,
        memory: DeviceMemory,
        device: Device,
        *,
        instruction_limit: int = INSTRUCTION_LIMIT,
        uop_limit: int = UOP_LIMIT,
        area_bytes: int = AREA_BYTES,
        record: bool = False,
    ) -> None:
        if not 4 * _ENDING <= instruction_limit <= INSTRUCTION_LIMIT:
            raise CommandQueueError(
                f"command queue: the instruction limit is {4 * _ENDING} to {INSTRUCTION_LIMIT}, not {instruction_limit}"
            )
        self.config = config
        self.memory = memory
        self.device = device
        least = max(PAGE_BYTES, 4 * config.uop_depth)
        if not least <= area_bytes <= AREA_BYTES:
            raise CommandQueueError(f"command queue: an area has {least} to {AREA_BYTES} bytes, not {area_bytes}")
        self.launcher = Launcher(config, memory, device, area_bytes=area_bytes, record=record)
        self.origin: Callable[[], Origin | None] | None = None
        self.plans_tokens = False
        if not config.uop_depth <= uop_limit <= UOP_LIMIT:
            raise CommandQueueError(
                f"command queue: the micro-op limit is {config.uop_depth} to {UOP_LIMIT}, not {uop_limit}"
            )
        self._limit = min(instruction_limit, area_bytes // INSTRUCTION_BYTES - 6)
        self._uop_limit = min(uop_limit, area_bytes // 4)
        self._debug = DebugFlag.NONE
        self._transfers = TransferLimits.of(config)
        self._queue = InstructionQueue()
        self._cache = UopCache(config.uop_depth)
        self._carry = TokenCarry()
        self._recorder: KernelRecorder | None = None
        self._kernels: dict[tuple[Hashable, bytes], tuple[KernelMode | None, tuple[KernelStep, ...]]] = {}
        self._origins: dict[tuple[Origin | None, str, str], Origin] = {}

    @property
    def debug_mode(self) -> DebugFlag:
        """The debug flags in force."""
        return self._debug

    @debug_mode.setter
    def debug_mode(self, flags: DebugFlag) -> None:
        flags = DebugFlag(flags)
        if flags & DebugFlag.FORCE_SERIAL and len(self._queue) > self._serial_capacity:
            self._launch_early()
        self._debug = flags
        self.launcher.dump = bool(flags & DebugFlag.DUMP_INSN)

    # --- calls of a program ------------------------------------------------------------------------------------------

    def load_buffer_2d(
        self,
        buffer: Allocation,
        offset: int,
        *,
        x_size: int,
        y_size: int,
        x_stride: int,
        x_pad_0: int = 0,
        y_pad_0: int = 0,
        x_pad_1: int = 0,
        y_pad_1: int = 0,
        sram_base: int,
        memory: MemoryId | int,
    ) -> None:
        """Load a tile. ``offset`` (in ``buffer``), sizes, stride and pads count elements of ``memory``."""
        copy = TileCopy(
            memory=known_memory(memory),
            sram_base=sram_base,
            offset=offset,
            x_size=x_size,
            y_size=y_size,
            x_stride=x_stride,
            x_pad_0=x_pad_0,
            y_pad_0=y_pad_0,
            x_pad_1=x_pad_1,
            y_pad_1=y_pad_1,
        )
        self._append_copies(Load, split_load(copy, buffer.nbytes, self._transfers), buffer)

    def store_buffer_2d(
        self,
        sram_base: int,
        memory: MemoryId | int,
        buffer: Allocation,
        offset: int,
        *,
        x_size: int,
        y_size: int,
        x_stride: int,
    ) -> None:
        """Store a tile; units as in ``load_buffer_2d``."""
        copy = TileCopy(
            memory=known_memory(memory),
            sram_base=sram_base,
            offset=offset,
            x_size=x_size,
            y_size=y_size,
            x_stride=x_stride,
        )
        self._append_copies(Store, split_store(copy, buffer.nbytes, self._transfers), buffer)

    def uop_loop_begin(self, extent: int, dst_factor: int, src_factor: int, wgt_factor: int) -> None:
        """Open a loop of the kernel that is being captured."""
        self._capturing("a loop begins").loop_begin(extent, dst_factor, src_factor, wgt_factor)

    def uop_loop_end(self) -> None:
        """Close the innermost loop of the kernel that is being captured."""
        self._capturing("a loop ends").loop_end()

    def uop_push(
        self,
        mode: int,
        reset_out: bool,
        dst: int,
        src: int,
        wgt: int,
        opcode: int = 0,
        use_imm: bool = False,
        imm: int = 0,
    ) -> None:
        """Append a micro-op to the kernel that is being captured; ``mode`` is a ``KernelMode``."""
        recorder = self._capturing("a micro-op is pushed")
        if mode not in KernelMode.__members__.values():
            raise KernelError(f"micro-op kernel: mode {mode} is unknown; the modes are {numbered(KernelMode)}")
        if mode == KernelMode.DEPTHWISE and not self.config.depthwise_taps:
            raise KernelError(
                f"micro-op kernel: mode {mode} is depthwise, which this configuration does not have; set DEPTHWISE_TAPS"
            )
        if mode == KernelMode.FUSED and not self.config.fused_alu:
            raise KernelError(
                f"micro-op kernel: mode {mode} is fused, which this configuration does not have; set FUSED_ALU"
            )
        if mode in (KernelMode.GEMM, KernelMode.DEPTHWISE):
            # A reset is the same in both modes.
            lane_by_lane = mode == KernelMode.DEPTHWISE and not reset_out
            operation = KernelOperation(mode=KernelMode.GEMM, reset=bool(reset_out), depthwise=lane_by_lane)
        else:
            if opcode not in AluOpcode.__members__.values():
                raise KernelError(
                    f"micro-op kernel: ALU operation {opcode} is unknown; the operations are {numbered(AluOpcode)}"
                )
            fused = mode == KernelMode.FUSED
            if fused and (opcode not in FUSED or use_imm):
                raise KernelError(
                    f"micro-op kernel: fused operations begin with {numbered(FUSED)} and two accumulators, not with "
                    f"{AluOpcode(opcode).name} {opcode}{' and an immediate' if use_imm else ''}"
                )
            operation = KernelOperation(
                mode=KernelMode.ALU,
                alu_opcode=AluOpcode(opcode),
                fused=fused,
                use_imm=bool(use_imm),
                imm=imm if use_imm or fused else 0,
            )
        recorder.push(MicroOp(dst=dst, src=src, wgt=wgt), operation)

    def push_gemm(self, site: Hashable, record: Callable[[], None], signature: bytes = b"") -> None:
        """Run the GEMM kernel of call site ``site`` for ``signature``, which are the values of its free variables.

        ``record`` makes the calls that describe it; it is called where the program has not run this kernel before.
        """
        self._push_kernel(KernelMode.GEMM, site, record, signature)

    def push_alu(self, site: Hashable, record: Callable[[], None], signature: bytes = b"") -> None:
        """Run an ALU kernel; as ``push_gemm``."""
        self._push_kernel(KernelMode.ALU, site, record, signature)

    def dep_push(self, source: Module | int, target: Module | int) -> None:
        """Let module ``source`` give ``target`` a token after everything it was asked to do so far."""
        self._make_room(2)
        self._queue.push(known_module(source), known_module(target), self._origin_of("VTADepPush"))

    def dep_pop(self, source: Module | int, target: Module | int) -> None:
        """Let the next work of module ``target`` wait for a token from ``source``."""
        self._make_room(1)
        self._queue.pop(known_module(source), known_module(target), self._origin_of("VTADepPop"))

    def synchronize(self) -> None:
        """Run what was collected and wait until it is done. Without anything collected, an empty launch runs."""
        if len(self._queue) + _ENDING > self._capacity + 6:
            self._launch_early()
        self._end_launch()
        self._kernels.clear()

    def finish_program(self) -> None:
        """End the program: run work that was not synchronised; drop pending pops and tokens."""
        if self._queue.does_work:
            self.synchronize()
        self.abort_program()

    def abort_program(self) -> None:
        """Forget what was collected since the last launch, pending pops and tokens included."""
        self._queue = InstructionQueue()
        self._cache.clear()
        self._carry = TokenCarry()
        self._kernels.clear()
        self._recorder = None
        self.plans_tokens = False

    def set_origin_source(self, address: int, table: Sequence[Origin | None]) -> None:
        """Read origins from compiled code: the int32 at host pointer ``address`` is an index into ``table``.

        An index outside of the table (a negative one, by convention) stands for an unknown origin.
        """
        index = ctypes.c_int32.from_address(address)
        self.origin = lambda: table[index.value] if 0 <= index.value < len(table) else None

    def close(self) -> None:
        """Forget everything and give the memory areas back; the queue can be used again, with new areas."""
        self.abort_program()
        self.launcher.close()

    # --- launches ----------------------------------------------------------------------------------------------------

    @property
    def _serial(self) -> bool:
        return bool(self._debug & DebugFlag.FORCE_SERIAL)

    @property
    def _capacity(self) -> int:
        """Instructions that may be collected for this launch: no-ops that hand on tokens must fit too."""
        return self._serial_capacity if self._serial or self.plans_tokens else self._limit - self._carry.total

    @property
    def _serial_capacity(self) -> int:
        """The same where a no-op may be put between any two instructions."""
        return (self._limit - self._carry.total) // 2 - _ENDING

    def _make_room(self, count: int) -> None:
        """Launch what was collected if ``count`` more instructions would not fit."""
        if len(self._queue) + count <= self._capacity:
            return
        if len(self._queue):
            self._launch_early()
        if count > self._capacity:
            raise CommandQueueError(
                f"command queue: {self._carry.total} tokens are on their way at once, and a launch has at most "
                f"{self._limit} instructions; take tokens before giving more"
            )

    def _launch_early(self) -> None:
        """Run what was collected in the middle of a program; pops that are pending stay so."""
        pending = self._queue.take_pending()
        self._end_launch()
        self._queue.restore_pending(pending)

    def _end_launch(self) -> None:
        """Let compute wait for load and store, append FINISH, run, and begin the next launch."""
        queue, origin = self._queue, self._origin_of("VTASynchronize")
        queue.push(Module.STORE, Module.COMPUTE, origin)
        queue.push(Module.LOAD, Module.COMPUTE, origin)
        queue.pop(Module.STORE, Module.COMPUTE, origin)
        queue.pop(Module.LOAD, Module.COMPUTE, origin)
        queue.commit_pops(Module.COMPUTE, origin)
        queue.append(Finish(), origin)
        entries, uops = self._ordered(self._carry.complete(queue.take_entries()))
        launch = build_launch(
            entries,
            uops=uops,
            resident=self._cache.resident,
            addresses=self.launcher.addresses,
            config=self.config,
        )
        self._cache.clear()
        self.launcher.submit(launch)

    def _ordered(self, entries: list[Entry]) -> tuple[list[Entry], Sequence[int]]:
        """Return the entries with the tokens that the modes ask for, and the micro-ops that they run."""
        uops: Sequence[int] = self._cache.image
        if self._serial:
            return serialise(entries), uops
        if self.plans_tokens and passes_through_dram(entries):
            return serialise(entries), uops
        if self.plans_tokens:
            addresses, config = self.launcher.addresses, self.config
            entries, uops = finer_ends(entries, uops, addresses, config, uop_limit=self._uop_limit)
            return plan_tokens(entries, uops, addresses, config), uops
        return entries, uops

    def _origin_of(self, call: str) -> Origin:
        """Return the origin of what ``call`` appends."""
        stage = self.origin() if self.origin is not None else None
        key = (stage, call, current_node())
        if key not in self._origins:
            self._origins[key] = replace(stage or Origin(""), call=call, node=key[2])
        return self._origins[key]

    def _append_copies(self, kind: type[Load] | type[Store], pieces: Sequence[Piece], buffer: Allocation) -> None:
        if not self.memory.is_live(buffer):
            raise CommandQueueError(
                f"command queue: the buffer at {buffer.address:#x} is not allocated (any more), or belongs to another "
                "memory"
            )
        origin = self._origin_of("VTALoadBuffer2D" if kind is Load else "VTAStoreBuffer2D")
        for piece in pieces:
            self._make_room(1)
            copy = piece.copy
            unit = self._transfers.unit[copy.memory]
            source = self.launcher.zero_element if piece.zeros else buffer
            instruction = kind(
                memory=copy.memory,
                sram_base=copy.sram_base,
                dram_base=dram_base(source, copy.offset, unit),
                y_size=copy.y_size,
                x_size=copy.x_size,
                x_stride=copy.x_stride,
                y_pad_0=copy.y_pad_0,
                y_pad_1=copy.y_pad_1,
                x_pad_0=copy.x_pad_0,
                x_pad_1=copy.x_pad_1,
            )
            self._queue.append(instruction, origin, DramSpan(source, copy.offset, copy.reach, unit))

    def _capturing(self, what: str) -> KernelRecorder:
        if self._recorder is None:
            raise KernelError(f"micro-op kernel: {what} outside of a kernel; push_gemm and push_alu open one")
        return self._recorder

    def _push_kernel(self, mode: KernelMode, site: Hashable, record: Callable[[], None], signature: bytes) -> None:
        if self._recorder is not None:
            raise KernelError("micro-op kernel: a kernel is pushed while another one is being captured")
        key = (site, signature)
        if key not in self._kernels:
            kernel = self._capture(record)
            found = None if kernel.operation is None else kernel.operation.mode
            self._kernels[key] = (found, lower_kernel(kernel, self.config))
        found, steps = self._kernels[key]
        if found not in (mode, None):
            raise KernelError(f"micro-op kernel: it is pushed for {mode.name}, and its micro-ops are for {found.name}")
        origin = self._origin_of(f"VTAPush{mode.name}Op")
        for step in steps:
            for instruction in step.instructions:
                begin = self._resident(step.block, origin)
                placed = replace(instruction, uop_bgn=begin, uop_end=begin + instruction.uop_end)
                self._queue.append(placed, origin)

    def _capture(self, record: Callable[[], None]) -> UopKernel:
        self._recorder = KernelRecorder()
        try:
            record()
            kernel = self._recorder.finish()
        finally:
            self._recorder = None
        if self._debug & DebugFlag.DUMP_UOP:
            self.launcher.write(str(kernel))
        return kernel

    def _resident(self, block: UopBlock, origin: Origin | None) -> int:
        """Return where ``block`` begins on chip, loading it if need be, with room for one more instruction."""
        self._make_room(2)
        if self._cache.image_size + self._cache.growth(block) > self._uop_limit:
            self._launch_early()
        place = self._cache.find(block)
        if place is not None:
            return place.begin
        place = self._cache.place(block)
        count = place.end - place.begin
        address = self.launcher.addresses.uops // self.config.uop_elem_bytes + self._cache.offset(block)
        load = Load(
            memory=MemoryId.UOP,
            sram_base=place.begin,
            dram_base=address,
            y_size=1,
            x_size=count,
            x_stride=count,
        )
        self._queue.append(load, origin)
        return place.begin
