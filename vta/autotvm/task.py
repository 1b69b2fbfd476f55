"""Tasks: a template with its arguments, for one environment; what tuners work on.

Tests: tests/vta/autotvm/test_task.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vta.autotvm.errors import TuningError
from vta.autotvm.library import TEMPLATES, model_of, workload_of
from vta.autotvm.made import Arguments, Made, Model, Template
from vta.autotvm.measure.inputs import MeasureInput, hardware_of
from vta.autotvm.space import ConfigEntity, ConfigSpace
from vta.autotvm.template import template_of
from vta.autotvm.workload import Value, serialised
from vta.environment import Environment, get_env
from vta.target import Target
from vta.topi.alu.elementwise import Binary
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d, SumPool2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.operator import Operator
from vta.topi.matmul.batch_matmul import Matmul
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

__all__ = ["Task", "create", "extract_from_network", "extract_from_operators", "extract_from_program"]

_LAYERS: Mapping[str, tuple[type[Operator], ...]] = {
    "nn.conv2d": (Conv2d,),
    "nn.conv2d_transpose": (Conv2dTranspose,),
    "nn.dense": (Dense, Matmul),
    "nn.max_pool2d": (MaxPool2d,),
    "nn.avg_pool2d": (AveragePool2d, SumPool2d),
    "add": (Binary,),
    "multiply": (Binary,),
}
"""Operators of relay -> the library's operators that compute them."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A template with arguments on one environment, whose hardware the choices are for."""

    template: Template
    args: Arguments
    target: Target
    env: Environment
    config_space: ConfigSpace

    @property
    def name(self) -> str:
        """The template's name."""
        return self.template.name

    @property
    def workload(self) -> tuple[Value, ...]:
        """Name and arguments."""
        return (self.name, *self.args)

    @property
    def on_cpu(self) -> bool:
        """Whether it is about code for the CPU, not for the accelerator."""
        return not self.target.is_accelerator

    @property
    def flop(self) -> float:
        """Operations that a run does, 0 if the template does not say."""
        return self.config_space.flop

    @property
    def operator(self) -> Operator | None:
        """What is computed, where the template says."""
        return None if self.template.operator is None else self.template.operator(self.args, self.env)

    @property
    def model(self) -> Model | None:
        """What says of choices what they take, where there is one."""
        if self.template.model is not None:
            return self.template.model(self.args, self.env)
        operator = self.operator
        return None if operator is None else model_of(operator, self.env)

    def instantiate(self, config: ConfigEntity) -> Made:
        """Return the schedule of ``config``, and the tensors that its function takes."""
        return self.template.make(config, self.args, self.env)

    def input(self, config: ConfigEntity) -> MeasureInput:
        """Return what a record says of ``config``."""
        return MeasureInput(str(self.target), self.workload, config, None if self.on_cpu else hardware_of(self.env))

    def __repr__(self) -> str:
        return f"Task({self.name}, {', '.join(map(str, self.args))}, {len(self.config_space)} choices)"


def create(
    name: str, args: Sequence[object], target: str | Target | None = None, *, env: Environment | None = None
) -> Task:
    """Return the task of template ``name`` with ``args``, tensors or what records have for them.

    ``target`` is ``env.target`` if left out, ``env`` the current environment; with "llvm" as target, a template of a
    script is about code for the CPU. Raises ``TuningError`` for a template
    that is not there, arguments that it does not take and a target for other sizes.
    """
    chosen = env or get_env()
    _require_target(f"task {name!r}", target, chosen)
    wanted = None if target is None else Target(target)
    on_cpu = wanted is not None and wanted.kind == "llvm"
    if on_cpu and name in TEMPLATES:
        raise TuningError(f"task {name!r}: the library's template is for the accelerator; leave target={target!s} out")
    found, space = template_of(name), ConfigSpace()
    arguments = tuple(serialised(argument) for argument in args)
    found.define(space, arguments, chosen)
    if not space.knobs:
        raise TuningError(f"template {name!r} defines no knob; there is nothing to tune")
    return Task(found, arguments, wanted if on_cpu and wanted else chosen.target, chosen, space)


def _require_target(what: str, target: str | Target | None, env: Environment) -> None:
    wanted = env.target if target is None else Target(target)
    if wanted.model not in ("unknown", env.MODEL):
        raise TuningError(
            f"{what}: the target is for {wanted.model}, and the environment is {env.MODEL}; make the task "
            "inside `with env:` of the environment that the target came from"
        )


def extract_from_operators(operators: Iterable[Operator], *, env: Environment | None = None) -> list[Task]:
    """Return a task for each of ``operators`` that a template of the library stands for, equal ones once."""
    chosen = env or get_env()
    workloads = [workload_of(operator, chosen) for operator in operators]
    once = dict.fromkeys(workload for workload in workloads if workload is not None)
    return [create(str(name), arguments, env=chosen) for name, *arguments in once]


def extract_from_network(
    network: object,
    *,
    params: Mapping[str, object] | None = None,
    shapes: Mapping[str, int | Sequence[int]] | None = None,
    env: Environment | None = None,
) -> list[Task]:
    """Return a task for each different layer that the accelerator computes of a network.

    ``network`` is a graph of relay (with ``params``), an ONNX model or its path (``shapes`` settles what it leaves
    open), or what was compiled of one in this process.
    """
    from vta.autotvm.network import layers_of  # and with it all that compiles networks

    chosen = env or get_env()
    found = layers_of(network, chosen, params=params, shapes=shapes)  # type: ignore[arg-type]  # arrays
    return extract_from_operators([layer.operator for layer in found], env=chosen)


def extract_from_program(
    mod: object,
    params: Mapping[str, object] | None = None,
    target: str | Target | None = None,
    ops: Sequence[object] | None = None,
    *,
    env: Environment | None = None,
) -> list[Task]:
    """Return the tasks of a graph, under TVM's name; ``ops`` are the operators of relay whose layers are wanted.

    Raises ``TuningError`` for a target of other sizes, and for operators that no layer is of.
    """
    tasks = extract_from_network(mod, params=params, env=env)
    _require_target("extract_from_program", target, env or get_env())
    if ops is None:
        return tasks
    kinds: list[type[Operator]] = []
    for each in ops:
        name = str(getattr(each, "name", each))
        if name not in _LAYERS:
            raise TuningError(f"extract_from_program: ops are of {', '.join(_LAYERS)}, not {name!r}")
        kinds.extend(_LAYERS[name])
    return [task for task in tasks if isinstance(task.operator, tuple(kinds))]
