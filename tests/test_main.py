"""The command line keeps compiled programs in the user's cache folder."""

import os

import pytest

from softbandit.__main__ import _keep_compiled_programs

VARIABLES = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")


@pytest.fixture
def environment(monkeypatch):
    for variable in VARIABLES:  # restored afterwards, also if the test sets them
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    return monkeypatch


def test_programs_are_kept_in_the_cache_folder_of_the_user(environment, tmp_path):
    environment.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment.setattr("sys.platform", "linux")
    _keep_compiled_programs()
    folder, seconds = (os.environ[variable] for variable in VARIABLES)
    assert folder.startswith(str(tmp_path / "softbandit" / "compiled"))
    assert os.path.isdir(folder)
    assert seconds == "0"


def test_a_place_that_the_user_has_set_stays(environment, tmp_path):
    environment.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment.setenv(VARIABLES[0], "mine")
    _keep_compiled_programs()
    assert os.environ[VARIABLES[0]] == "mine"


def test_a_cache_folder_that_cannot_be_written_is_not_used(environment, tmp_path):
    (tmp_path / "file").write_text("")
    environment.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    environment.setattr("sys.platform", "linux")
    _keep_compiled_programs()
    assert VARIABLES[0] not in os.environ
