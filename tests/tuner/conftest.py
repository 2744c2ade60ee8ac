import pytest
from softbandit_tests import postgres

import softbandit as sb


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, for tests that are run against both kinds of stores."""
    pytest.importorskip("psycopg")
    if postgres.program("initdb") is None:
        pytest.skip(postgres.INSTALL)
    with postgres.Server() as running:
        yield running


@pytest.fixture
def file_store(tmp_path):
    """The path of a SQLite file that does not exist yet."""
    return str(tmp_path / "tuners.db")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    """A store without tuners, of each kind."""
    if request.param == "sqlite":
        return request.getfixturevalue("file_store")
    return request.getfixturevalue("server").empty_database()


@pytest.fixture
def make(store):
    """Create a tuner in the store, or continue it."""

    def create(name="ingest", **settings):
        space = {"clients": sb.Integer(1, 16), "rate": sb.LogFloat(0.01, 1), "codec": sb.Categorical(["zstd", "lz4"])}
        return sb.Tuner(name, **{"space": space, "maximize": "rows", "store": store} | settings)

    return create
