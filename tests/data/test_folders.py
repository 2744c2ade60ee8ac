import sys
from pathlib import Path

import pytest

from softbandit.data.folders import cache_folder, data_folder


@pytest.mark.parametrize(
    ("platform", "variable", "default"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache/softbandit"),
        ("darwin", None, "Library/Caches/softbandit"),
        ("win32", "LOCALAPPDATA", "AppData/Local/softbandit"),
    ],
)
def test_the_cache_folder_follows_the_platforms_convention(monkeypatch, tmp_path, platform, variable, default):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == tmp_path / default
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
        assert cache_folder() == tmp_path / "elsewhere" / "softbandit"


def test_the_folder_is_the_callers_else_the_variables_else_the_cache(monkeypatch, empty_cache):
    assert data_folder() == (cache_folder(), "")
    monkeypatch.setenv("SOFTBANDIT_DATA", "/named")
    assert data_folder() == (Path("/named"), "SOFTBANDIT_DATA")
    assert data_folder("/given") == (Path("/given"), "caller")
    monkeypatch.setenv("SOFTBANDIT_DATA", "")  # like unset
    assert data_folder() == (cache_folder(), "")
