"""The compute module: micro-op and accumulator loads, GEMM core, tensor ALU, and the order of their instructions."""
