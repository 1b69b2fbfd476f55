"""vta/testing."""
