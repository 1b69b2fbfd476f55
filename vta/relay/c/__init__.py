"""A compiled network as C: what a board without Python runs.

The C runtime itself is in ``runtime/c``; here a network's memory, its launches and its host's steps become a source of
their own. docs/c-runtime.md is the page. Tests: tests/vta/relay/c.
"""

from vta.relay.c.export import CSources, c_sources, write_c
from vta.relay.c.host_steps import CExportError
from vta.relay.c.module_network import module_network
from vta.relay.c.pointers import c_name

__all__ = ["CExportError", "CSources", "c_name", "c_sources", "module_network", "write_c"]
