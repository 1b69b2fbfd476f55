"""Relay under TVM's names: ``relay.var``, ``relay.nn.conv2d``, ``relay.build``, ``graph_executor``, passes as objects.

What these names do is done elsewhere: graphs in ``vta.relay``, compiling in ``vta.relay.backend``, running in
``runtime.executor``. They are imported when ``vta.relay`` is first asked for one. Tests: tests/vta/relay/front.
"""
