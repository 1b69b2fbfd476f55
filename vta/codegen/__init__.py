"""vta/codegen."""
