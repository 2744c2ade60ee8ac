"""What errors say about an optional package that is missing."""

import json
from importlib import metadata

import pytest

import softbandit as sb
from softbandit.errors import install_command, needs_extra

CLONE = {"url": "file:///home/me/my%20clone", "dir_info": {}}
EDITABLE = {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}}
WHEEL = {"url": "https://example.org/softbandit.whl", "archive_info": {}}
REPOSITORY = {"url": "https://example.org/softbandit", "vcs_info": {"vcs": "git", "commit_id": "1f"}}


class Distribution:
    """A distribution as its installer has noted it."""

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'softbandit[jax]'"),
        (CLONE, "pip install 'softbandit[jax] @ file:///home/me/my%20clone'"),
        (EDITABLE, "pip install -e '/home/me/my clone[jax]'"),
        (WHEEL, "pip install 'softbandit[jax] @ https://example.org/softbandit.whl'"),
        (REPOSITORY, "pip install 'softbandit[jax] @ git+https://example.org/softbandit'"),
    ],
)
def test_an_extra_is_installed_from_where_softbandit_came_from(origin, command, monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda name: Distribution(origin))
    assert install_command("jax") == command


def test_a_source_tree_that_is_not_installed_names_the_package(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_command("plot") == "pip install 'softbandit[plot]'"


def test_a_missing_package_is_an_error_that_says_how_to_install_it():
    with pytest.raises(sb.MissingExtraError) as caught, needs_extra("no_such_package", "plot"):
        import no_such_package  # noqa: F401
    assert str(caught.value) == f"no_such_package is not installed. Install it with: {install_command('plot')}"


def test_a_module_that_is_missing_elsewhere_is_not_blamed_on_the_extra():
    with pytest.raises(ModuleNotFoundError, match="no_such_package"), needs_extra("matplotlib", "plot"):
        import no_such_package  # noqa: F401
