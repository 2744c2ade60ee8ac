import sys
from pathlib import Path

import pytest

from softbandit.data.folders import cache_folder, place


@pytest.mark.parametrize(
    ("platform", "variable", "default"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache/softbandit"),
        ("darwin", None, "Library/Caches/softbandit"),
        ("win32", "LOCALAPPDATA", "AppData/Local/softbandit"),
    ],
)
def test_the_cache_is_where_the_system_has_it(monkeypatch, tmp_path, platform, variable, default):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == tmp_path / default
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
        assert cache_folder() == tmp_path / "elsewhere" / "softbandit"


def test_the_caller_comes_before_the_variable_and_that_before_the_cache(monkeypatch, empty_cache):
    assert place() == (cache_folder(), "")
    monkeypatch.setenv("SOFTBANDIT_DATA", "/named")
    assert place() == (Path("/named"), "SOFTBANDIT_DATA")
    assert place("/given") == (Path("/given"), "caller")
    monkeypatch.setenv("SOFTBANDIT_DATA", "")  # as good as unset
    assert place().named_by == ""
