"""Every test here that asks for ``code_path`` runs on each code path that this processor has."""

import pytest

from runtime.sim.code_path import CodePath, host_code_paths


@pytest.fixture(params=list(CodePath), ids=lambda code_path: code_path.value)
def code_path(request: pytest.FixtureRequest) -> CodePath:
    if request.param not in host_code_paths():
        pytest.skip(f"this processor cannot run the {request.param.value} kernels")
    return CodePath(request.param)
