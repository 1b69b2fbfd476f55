"""Moving rows of elements between DRAM and the scratchpads: addresses, incoming beats, outgoing beats."""
