"""Optuna's own requirements on samplers."""

import pytest

suites = pytest.importorskip("optuna.testing.pytest_samplers")
SoftbanditSampler = pytest.importorskip("softbandit.integrations.optuna").SoftbanditSampler
pytestmark = pytest.mark.extra


class TestSoftbanditSampler(
    suites.BasicSamplerTestCase, suites.RelativeSamplerTestCase, suites.SingleOnlySamplerTestCase
):
    @pytest.fixture
    def sampler(self):
        return SoftbanditSampler
