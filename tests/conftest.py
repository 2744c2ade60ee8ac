import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run, and no deadline: test machines are noisy.
settings.register_profile(
    "softbandit", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("softbandit")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """Return the path of an empty cache, with no folder configured, as on a fresh machine."""
    for variable in ("SOFTBANDIT_DATA", "SKFOLIO_DATA"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    return tmp_path / "home" / "softbandit"
