"""What may be chosen, and one choice of it.

``entities`` has the kinds of knobs, ``policies`` says which values they have; ``ConfigSpace`` numbers all combinations,
and ``ConfigEntity`` is one of them. Templates and tuners live a folder up.
"""

from vta.autotvm.space.config_space import ConfigEntity, ConfigSpace
from vta.autotvm.space.entities import AnnotateEntity, Entity, OtherOptionEntity, ReorderEntity, SplitEntity
from vta.autotvm.space.errors import SpaceError

__all__ = [
    "AnnotateEntity", "ConfigEntity", "ConfigSpace", "Entity", "OtherOptionEntity", "ReorderEntity", "SpaceError",
    "SplitEntity",
]  # fmt: skip
