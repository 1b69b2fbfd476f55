"""The nodes of a graph, their types, where they came from, and walking over them. Knows no operator by itself.

What an operator means and which type it returns is in ``vta/relay/ops``; rebuilding needs that, and is there, too.
"""
