import json
import subprocess

import pytest

import softbandit as sb

CliRunner = pytest.importorskip("typer.testing").CliRunner
app = pytest.importorskip("softbandit.cli").app
pytest.importorskip("sqlalchemy")
pytestmark = pytest.mark.extra

PARAMETERS = ["--parameter", "clients=Integer(1, 16)", "--parameter", """codec=Categorical(["zstd", "it's"])"""]
LIMIT = ["--limit", 'Mean("ms", at_most=12)']
BASELINE = ["--baseline", "clients=4", "--baseline", "codec=it's"]
INGEST = ["ingest", *PARAMETERS, "--maximize", "rows", *LIMIT, *BASELINE, "--setting", "rounds=50"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTBANDIT_STORE", str(tmp_path / "tuners.db"))

    def call(*arguments, code=0):
        result = CliRunner().invoke(app, ["tune", *map(str, arguments)], env={"COLUMNS": "80"})
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    return call


@pytest.fixture
def tuner(run, tmp_path):
    run("init", *INGEST)
    return sb.Tuner.open("ingest", tmp_path / "tuners.db")


def test_init_creates_the_tuner_that_its_options_describe(tuner):
    expected = {
        "space": {"clients": sb.Integer(1, 16), "codec": sb.Categorical(["zstd", "it's"])},
        "limits": [sb.Mean("ms", at_most=12)],
        "baseline": {"clients": 4, "codec": "it's"},
    }
    assert tuner.description.differences(tuner.description.changed(**expected, maximize="rows", rounds=50)) == []


def test_init_takes_a_file_and_options_add_to_it(run, tmp_path):
    (tmp_path / "a.toml").write_text('minimize = "ms"\n[space]\nn = "Integer(1, 9)"\n[noise]\nms = 2\n')
    run("init", "a", "--file", tmp_path / "a.toml", "--parameter", "k=Ordinal([1, 2, 4])", "--context", "h=Cyclic(24)")
    description = sb.Tuner.open("a", tmp_path / "tuners.db").description
    assert dict(description.space.parameters) == {"n": sb.Integer(1, 9), "k": sb.Ordinal([1, 2, 4])}
    assert description.goal == "minimize ms"
    assert description.noise == {"ms": 2.0}
    assert description.context is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "parameters: expected names and parameters, got {}"),
        ("space = 3", "space: expected names and values, got 3"),
        ("noise = 3", "noise: expected names and values, got 3"),
        ("limits = 'Mean(...)'", "limits: expected a list of limits"),
        ("metric = 'a'", "setting: expected one of"),
        ("[space", "is not a TOML file"),
    ],
)
def test_init_refuses_a_file_that_describes_no_tuner(run, tmp_path, text, says):
    (tmp_path / "a.toml").write_text(text)
    assert says in run("init", "a", "--file", tmp_path / "a.toml", "--maximize", "rows", *LIMIT, code=1)
    assert not (tmp_path / "tuners.db").exists()


def test_init_again_is_fine_if_nothing_differs_and_says_what_does(run, tuner):
    assert "Tuner('ingest'" in run("init", *INGEST)
    said = run("init", "ingest", *PARAMETERS, "--maximize", "rows", code=1)
    assert "limits: mean ms <= 12, now none" in said
    assert len(tuner.history()) == 0


def test_a_shell_can_evaluate_what_ask_prints(run, tuner):
    printed = run("ask", "ingest")
    script = 'eval "$1"; printf "%s|%s|%s" "$id" "$clients" "$codec"'
    shell = subprocess.run(["sh", "-c", script, "sh", printed], capture_output=True, text=True, check=True)
    id, clients, codec = shell.stdout.split("|")
    asked = tuner.history()[0]
    assert (int(id), int(clients), codec) == (asked.id, asked.values["clients"], asked.values["codec"])


def test_ask_prints_json(run, tuner):
    data = json.loads(run("ask", "ingest", "--json"))
    assert data["id"] == 1
    assert data["values"] == tuner.history()[0].values


def test_names_that_no_shell_accepts_are_changed_or_refused(run):
    run("init", "odd", "--parameter", "batch size;true=Integer(1, 9)", "--maximize", "rows")
    assert "batch_size_true=" in run("ask", "odd")
    run("init", "same", "--parameter", "a-b=Integer(1, 9)", "--parameter", "a_b=Integer(1, 9)", "--maximize", "rows")
    assert "Use --json" in run("ask", "same", code=1)
    assert json.loads(run("ask", "same", "--json"))["values"].keys() == {"a-b", "a_b"}


def test_tell_reports_metrics_or_a_failure(run, tuner):
    for _ in range(3):
        run("ask", "ingest")
    run("tell", "ingest", 2, "rows=41200", "ms=11.5", "host=a")
    run("tell", "ingest", 1, "--failed", "timeout")
    assert [r.status for r in tuner.history()] == ["failed", "told", "asked"]
    assert tuner.history()[1].metrics == {"rows": 41200.0, "ms": 11.5, "host": "a"}
    assert tuner.history()[0].reason == "timeout"
    assert "a number for 'ms'" in run("tell", "ingest", 3, "rows=1", code=1)
    run("tell", "ingest", 7, "rows=1", "ms=1", code=1)
    run("tell", "ingest", 3, "rows", code=1)


def test_history_is_csv_or_json_lines(run, tuner):
    run("ask", "ingest")
    run("tell", "ingest", 1, "rows=41200", "ms=11.5")
    header, first = run("history", "ingest").splitlines()
    assert header == "id,status,kind,asked,told,reason,clients,codec,rows,ms"
    assert first.startswith("1,told,")
    assert first.endswith(",41200.0,11.5")
    assert json.loads(run("history", "ingest", "--json"))["ms"] == 11.5


def test_a_context_is_given_at_ask(run):
    run("init", "daily", *PARAMETERS, "--maximize", "rows", "--context", "hour=Cyclic(24)")
    assert "hour" in run("ask", "daily", code=1)
    assert json.loads(run("ask", "daily", "--context", "hour=13.5", "--json"))["id"] == 1


def test_pause_resume_and_export(run, tuner, tmp_path):
    run("pause", "ingest")
    assert json.loads(run("ask", "ingest", "--json"))["values"] == {"clients": 4, "codec": "it's"}
    run("resume", "ingest")
    assert "Log: " in run("export", "ingest", tmp_path / "log.jsonl")
    assert len(sb.Tuner.restore(tmp_path / "log.jsonl", tmp_path / "other.db").history()) == 1


def test_change_adds_parameters_replaces_limits_and_says_what_is_different(run, tuner):
    wider = ["--parameter", "clients=Integer(1, 32)", "--parameter", "batch=Fixed(1)", "--baseline", "batch=1"]
    limit, setting = ["--limit", 'Mean("ms", at_most=10)'], ["--setting", "rounds=null", "--noise", "ms=2"]
    said = run("change", "ingest", *wider, *limit, *setting)
    assert said.splitlines()[:2] == [
        "space, clients: Integer(low=1, high=16), now Integer(low=1, high=32)",
        "space, batch: none, now Fixed(value=1)",
    ]
    assert "limits: mean ms <= 12, now none\nlimits: none, now mean ms <= 10" in said
    now = tuner.description
    codec = sb.Categorical(["zstd", "it's"])
    assert dict(now.space.parameters) == {"clients": sb.Integer(1, 32), "codec": codec, "batch": sb.Fixed(1)}
    assert now.limits == (sb.Mean("ms", at_most=10),)
    assert now.baseline == {"clients": 4, "codec": "it's", "batch": 1}
    assert (now.rounds, now.noise) == (None, {"ms": 2.0})
    assert run("change", "ingest") == "Nothing is different.\n"
    assert "seed" in run("change", "ingest", "--setting", "seed=1", code=1)
    assert tuner.description.differences(now) == []


def test_observe_reads_csv_and_json_lines(run, tuner, tmp_path):
    (tmp_path / "week.csv").write_text("clients,codec,rows,ms,host\n4,it's,41200,11.5,a\n5,zstd,41300,12.5,\n")
    assert run("observe", "ingest", tmp_path / "week.csv") == "Measurements: 2\n"
    row = {"clients": 6, "codec": "zstd", "rows": 1, "ms": 2.5}
    (tmp_path / "week.jsonl").write_text(f"{json.dumps(row)}\n\n")
    assert run("observe", "ingest", tmp_path / "week.jsonl") == "Measurements: 1\n"
    with tuner._session.up_to_date() as replay:
        rows = replay.decider.evidence.rows
    assert [r.values["clients"] for r in rows] == [4, 5, 6]
    assert [r.metrics["ms"] for r in rows] == [11.5, 12.5, 2.5]
    assert [r.metrics.get("host") for r in rows] == ["a", None, None]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "clients,codec,rows\n4,zstd,1\n", "row 0: metrics: expected a number for 'ms'"),
        ("a.csv", "clients,codec,rows,ms\n4,zstd,1,2,3\n", "line 2 has more cells than the header"),
        ("a.csv", 'clients,codec\n"4', "could not be read: unexpected end of data. Pass a .csv file with a header"),
        ("a.jsonl", "clients,codec\n", "could not be read: Expecting value"),
        ("a.jsonl", "[1]\n", "row 0: expected values and metrics by name"),
        (".", None, "could not be read"),
    ],
)
def test_observe_refuses_a_file_without_measurements_and_learns_nothing(run, tuner, tmp_path, name, text, says):
    if text is not None:
        (tmp_path / name).write_text(text)
    assert says in run("observe", "ingest", tmp_path / name, code=1)
    with tuner._session.up_to_date() as replay:
        assert len(replay.decider.evidence.rows) == 0


def test_an_exported_tuner_is_restored_into_another_store(run, tuner, tmp_path):
    run("ask", "ingest")
    run("export", "ingest", tmp_path / "log.jsonl")
    other = ["--store", tmp_path / "other.db"]
    assert "Tuner('ingest'" in run("restore", tmp_path / "log.jsonl", *other)
    assert run("list", *other) == "ingest\n"
    assert run("history", "ingest", *other) == run("history", "ingest")
    assert "expected no tuner 'ingest'" in run("restore", tmp_path / "log.jsonl", code=1)


def test_an_unknown_tuner_or_store_ends_with_a_message(run, tuner):
    assert "error:" in run("ask", "igest", code=1)
    assert "error:" in run("status", "ingest", "--store", "no-such-folder/x.db", code=1)


def test_status_recommend_and_plot_after_some_rounds(run, tuner, tmp_path):
    for _ in range(9):
        with tuner.round() as round:
            round.report(rows=round.values["clients"], ms=round.values["clients"])
    said = run("status", "ingest")
    assert "limit mean ms <= 12" in said
    assert max(map(len, said.splitlines())) < 80
    assert json.loads(run("status", "ingest", "--json"))["counts"]["told"] == 9
    best = json.loads(run("recommend", "ingest", "--json"))
    assert best["values"] == tuner.recommend().values
    assert f"clients={best['values']['clients']}" in run("recommend", "ingest").splitlines()
    assert 0 <= best["feasible"] <= 1
    pytest.importorskip("matplotlib")
    assert "Figure: " in run("plot", "ingest", "--out", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
