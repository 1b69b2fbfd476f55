"""Prints `docs/isa.md` from the layouts, the rules and the syntax tables.

Run as ``python -m docs.make_pages``. The page is kept up to date by
``tests/docs/test_isa_page.py``.
"""

from collections.abc import Iterator, Sequence

from isa.config import VTAConfig
from isa.instructions import AluOpcode, MemoryId, Opcode
from isa.layout import Layout, instruction_layouts, uop_layout
from isa.legality import Condition, Rule, legality_rules
from isa.text.syntax import MNEMONICS, UOP_OPERANDS, TextOperand

__all__ = ["reference_page"]

_INTRODUCTION = """\
# Instruction set

This page is printed from the tables that encoder, decoder, assembler and hardware are built from
(`python -m docs.make_pages`). The reference interpreter, `isa/reference.py`, defines what a
program does; it is short.

An instruction has 128 bits and lies in DRAM as two little-endian 64-bit words, bits 63:0 first. A micro-op has 32 bits.
Unused bits are zero. Positions below are those of the default configuration; a width that follows from the depth of a
buffer is marked with `*`, and the second 64-bit word always starts at bit 64.
"""

_SEMANTICS = """\
## What instructions do

**LOAD** writes `(y_pad_0 + y_size + y_pad_1) * (x_pad_0 + x_size + x_pad_1)` consecutive elements from `sram_base` on:
zeros where there is padding, else element `dram_base + y * x_stride + x` of DRAM. Elements are of the memory's kind, so
the byte address is `dram_base` times the bytes of an element. ACC_8BIT reads int8 numbers and widens them to
accumulators. UOP loads are flat: `x_stride` has no meaning.

**STORE** writes the low output bits of each lane of consecutive accumulator elements, whatever wrote them (nothing
saturates: 128 becomes -128), to rows of DRAM.

**GEMM** and **ALU** run micro-ops `uop_bgn` to `uop_end - 1` for every step of two loops, outer counter i, inner
counter j; an index is the micro-op's plus `i * factor_out + j * factor_in`. GEMM adds the products of input `src`
(batch rows of block_in lanes) and weight `wgt` (block_out rows) to accumulator `dst`, modulo 2^32; with `reset` it
zeroes `dst` and looks at neither operand. ALU does `acc[dst] = op(acc[dst], operand 1)` lane by lane, where operand 1
is the sign-extended immediate or `acc[src]`. ADD and MUL wrap. SHR by y >= 0 is an arithmetic shift to the right, by
y < 0 a shift to the left by -y; a count of 32 or more leaves only sign bits, or zero.

With DEPTHWISE_TAPS in the configuration, GEMM has one field more, the bit behind `iter_in`: `depthwise`. Where it is
set, lane i of `dst` adds up input lane i of the elements `src` to `src + taps - 1` (each of which has to be on chip),
each times a number of its own: number t of weight row i belongs to element `src + t`. The other numbers of the row
count for nothing. A step is one step, whatever it multiplies; with `reset`, the flag means nothing. Without
DEPTHWISE_TAPS that bit is an unused one, as in upstream's words.

With FUSED_ALU in the configuration, ALU has one field more, the bit behind `iter_in`: `fused`. Where it is set, a step
does two operations and a shift: MAX with `acc[src]`, then MIN with `acc[src + 1]`, or MUL with `acc[src]`, then ADD of
`acc[src + 1]`; and SHR of the result by `imm`. So limits on both sides, or a product and a sum, are one step, with
operands that are the same for many steps or new for each. Every one of the three has the meaning that it has in a step
of its own, 32 bits included, but all operands are read before `dst` is written. Other operations and `use_imm` are
illegal with it. Without FUSED_ALU that bit is an unused one, as in upstream's words.

A size, an iteration count or a micro-op range of zero means no work, and no padding either. Numbers narrower than a
byte are packed lowest bits first. Every index and address that is used is checked; one out of range is an error that
names the instruction.

## Modules and tokens

The load module runs LOAD of INP and WGT, the store module STORE, the compute module everything else. They form a chain
LOAD - COMPUTE - STORE with four token queues: l2g and g2l between load and compute, g2s and s2g between compute and
store. `prev` is the neighbour to the left, `next` the one to the right. An instruction takes its tokens before it
starts, both if it pops twice, and gives tokens when it and every earlier instruction of its module have completed. A
LOAD or STORE with `x_size` 0 moves nothing and only carries tokens.

A program is valid if the k-th pop of each queue follows its k-th push in the program, conflicting accesses of two
modules are ordered by tokens, and FINISH is last. For valid programs every engine gives what executing in program order
gives. A launch starts with empty queues and ends when FINISH and all earlier instructions have completed.
"""

_ASSEMBLY = """\
## Assembly

One instruction a line: a mnemonic, operands `name=value` in any order, flags. Comments start with `;` or `#`. Numbers
are decimal, `0x` or `0b`. `@ "stage" "source"` at the end of a line says where the instruction came from (then "call"
"node", the runtime call and the graph node, if they are known). Lines that start with a dot describe the rest of the
program:

| directive | meaning |
|---|---|
| `.config KEY=VALUE ...` | the configuration, where it differs from the default one |
| `.data NAME address=A type=T shape=N,M` | DRAM contents, on the same or the following lines: \
`zeros`, `fill V`, `arange [START [STEP]] [wrapping]`, `random SEED`, `hex DIGITS`, or \
one number for each element |
| `.data NAME file=F` | the contents, type and shape of an array in a file beside the program or below its folder: an \
`.npy`, or the array of that name in an `.npz`; `type=T` asks for another type that holds all its numbers |
| `.output NAME address=A type=T shape=N,M` | a tensor to print or compare afterwards; \
one with the name of a `.data` has its place, type and shape |
| `.uop [address=A]` | micro-ops follow, one a line, each perhaps with a `label:` in front |
| `.text` | instructions follow |

Regions without an address get pages of their own, and their names (and `uops`, the first micro-op) can be written in
`dram=`: `dram=A`, `dram=A+4` (elements).

```
; C = A + 3, 64 vectors
.data A type=int32 shape=64,16
    arange
.output C type=int8 shape=64,16
.uop
    add: dst=0 src=0
.text
    load.acc sram=0 dram=A x=64
    load.uop dram=add x=1
    alu.add uop=0:1 iter=1,64 dst=0,1 src=0,1 imm=3 push_next
    store dram=C x=64 pop_prev push_prev
    finish pop_next
```

A line of a micro-op has `dst=`, `src=` and `wgt=`, or `word=0x...`.
"""


def reference_page() -> str:
    """Return the page."""
    parts = [
        _INTRODUCTION,
        *_words(),
        _enumerations(),
        _SEMANTICS,
        *_illegal_words(),
        _ASSEMBLY,
        *_mnemonics(),
    ]
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _words() -> Iterator[str]:
    """Yield a section for each kind of word."""
    config, other = VTAConfig(), _other_config()
    yield "## Words\n"
    for name, layout in instruction_layouts(config).items():
        yield f"### {name} (opcode {Opcode[name].value})\n"
        yield _layout_table(layout, instruction_layouts(other)[name])
    yield "### Micro-op\n"
    yield _layout_table(uop_layout(config), uop_layout(other))


def _other_config() -> VTAConfig:
    """Return a configuration in which every depth differs from the default one's."""
    return VTAConfig(log_uop_buff_size=14, log_inp_buff_size=14, log_wgt_buff_size=17, log_acc_buff_size=16)


def _layout_table(layout: Layout, other: Layout) -> str:
    widths = {field.name: field.width for field in other.fields}
    rows: list[tuple[str, ...]] = []
    for field, offset in zip(layout.fields, layout.offsets, strict=True):
        top = offset + field.width - 1
        bits = f"{top}:{offset}" if field.width > 1 else f"{offset}"
        mark = "" if field.unused or widths[field.name] == field.width else "*"
        name = "unused" if field.unused else f"`{field.name}`"
        meaning = f"{field.doc}, signed" if field.signed else field.doc
        rows.append((bits, name, f"{field.width}{mark}", meaning))
    return _table(("bits", "field", "width", "meaning"), rows)


def _enumerations() -> str:
    memories = _table(("memory", "id"), [(memory.name, str(memory.value)) for memory in MemoryId])
    operations = _table(("operation", "alu_opcode"), [(entry.name, str(entry.value)) for entry in AluOpcode])
    return f"## Numbers of memories and operations\n\n{memories}\n{operations}"


def _illegal_words() -> Iterator[str]:
    yield "## Illegal words\n"
    yield (
        "Encoder, decoder, checker and engines refuse a word with an unknown opcode or an unused bit that is set,\n"
        "and one that fits a row of this table. (ACC_8BIT is listed for configurations whose inputs have less than 8\n"
        "bits, `fused` for those with FUSED_ALU.)\n"
    )
    rows: list[tuple[str, ...]] = []
    narrow = VTAConfig(log_inp_width=2, log_inp_buff_size=14, fused_alu=1)
    for rules in legality_rules(narrow).values():
        rows += [(rule.layout, _conditions(rule), _plain(rule)) for rule in rules]
    yield _table(("word", "fields", "why"), rows)


def _conditions(rule: Rule) -> str:
    return ", ".join(_condition(condition) for condition in rule.conditions)


def _condition(condition: Condition) -> str:
    values = ", ".join(str(int(value)) for value in sorted(condition.values))
    if len(condition.values) == 1:
        return f"`{condition.field}` {'≠' if condition.negated else '='} {values}"
    return f"`{condition.field}` {'not in' if condition.negated else 'in'} {{{values}}}"


def _plain(rule: Rule) -> str:
    """Return the rule's sentence without the value at hand."""
    text = rule.message.partition(";")[0]
    for condition in rule.conditions:
        text = text.replace(f", not {{{condition.field}}}", "").replace(f" {{{condition.field}}}", "")
    return text


def _mnemonics() -> Iterator[str]:
    yield "### Instructions\n"
    rows: list[tuple[str, ...]] = []
    for mnemonic in MNEMONICS.values():
        operands = " ".join(_form(operand) for operand in mnemonic.operands)
        own = [flag for flag in mnemonic.flags if flag == "reset"]
        rows.append((f"`{mnemonic.name}`", f"`{' '.join([operands, *own])}`" if operands else "", mnemonic.doc))
    yield _table(("mnemonic", "operands", "meaning"), rows)
    yield "Every instruction may have the flags `pop_prev`, `pop_next`, `push_prev`, `push_next`.\n"
    yield "### Operands\n"
    seen: dict[tuple[str, str], TextOperand] = {}
    for mnemonic in MNEMONICS.values():
        for operand in mnemonic.operands:
            seen.setdefault((operand.name, operand.doc), operand)
    rows = [(f"`{_form(o)}`", o.doc + (" (required)" if o.required else "")) for o in seen.values()]
    rows += [(f"`{_form(o)}` (micro-op)", o.doc) for o in UOP_OPERANDS]
    yield _table(("operand", "meaning (value if left out)"), rows)


def _form(operand: TextOperand) -> str:
    return f"{operand.name}={operand.separator.join('N' for _ in operand.fields)}"
