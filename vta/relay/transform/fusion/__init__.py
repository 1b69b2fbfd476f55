"""Fusion: which operators become one kernel. Post-dominators of the graph, groups of its nodes, and the rewriting."""
