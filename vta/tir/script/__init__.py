"""Programs as Python text, TVM's TVMScript: ``print(to_script(func))``, ``@T.prim_func``, ``from_source(text)``.

``printer`` writes functions and modules (``expression_text`` what stands inside of statements), ``parser`` reads them
(with ``expressions`` and ``scopes``), ``words`` is what ``T`` is where Python itself looks at it.
"""

from vta.tir.script.parser import ScriptError, from_source, ir_module, prim_func
from vta.tir.script.printer import to_script
from vta.tir.script.words import T

__all__ = ["ScriptError", "T", "from_source", "ir_module", "prim_func", "to_script"]
