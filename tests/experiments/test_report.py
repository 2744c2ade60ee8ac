import base64
import html.parser
import re
from dataclasses import replace

import pytest
from softbandit_tests.tiny_experiment import tiny

import softbandit as sb
from softbandit.experiments import claims, figures_results, judges, report, reproduce, runner
from softbandit.experiments.tables import Table

pytestmark = pytest.mark.extra

CLAIM = claims.Claim(
    "A <b>claim</b>", "CKB & co.", "N <= 5", "tiny", "one",
    judges.at_most(["ckb-ucb"], "violated_rounds", limit=5),
)  # fmt: skip
FIGURES = {
    "one": {"kind": "curves", "y": ["strong_regret", "violation"], "panels": ["width_scale"]},
    "two": {"kind": "final", "x": "width_scale", "y": "violation", "log": "x"},
    "three": {"kind": "dots", "y": ["violation", "violated_rounds"]},
    "four": {"kind": "heat", "y": "violated_rounds", "rows": ["width_scale"], "columns": ["problem.noise"]},
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    spec = tiny(figures=FIGURES, grid={"width_scale": [1.0, 0.2], "problem.noise": [0.1]})
    (finished,) = runner.run([spec], [runner.check(spec, None)], tmp_path_factory.mktemp("out"))
    reproduce.draw(finished)
    return finished


class Reader(html.parser.HTMLParser):
    """Collects ids, links and text, and fails on tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.open, self.text = set(), [], [], ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values.get("id")}
        self.links += [values["href"]] if tag == "a" else []
        self.open += [tag] if tag not in ("meta", "img") else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(path):
    reader = Reader()
    reader.feed(path.read_text().replace("<!doctype html>", ""))
    assert not reader.open
    return reader


def test_the_report_is_valid_html_and_needs_no_other_file(outcome, tmp_path):
    verdicts = [claims.judge(CLAIM, outcome)]
    path = report.save_report([outcome], verdicts, "A title", tmp_path, "softbandit run tiny.toml")
    page = path.read_text()
    reader = read(path)
    assert all(link[1:] in reader.ids for link in reader.links)
    assert "A <b>claim</b>" in reader.text  # escaped in the source
    assert not re.findall(r"(?:src|href)='(?!data:|#)", page)
    picture = base64.b64encode((outcome.folder / "one.png").read_bytes()).decode()
    assert picture in page
    assert page.index("A &lt;b&gt;claim") < page.index(picture)  # claims first


def test_another_table_gives_another_report(outcome, tmp_path):
    """No number is typed by hand."""

    def text_of(changed):
        verdicts = [claims.judge(CLAIM, changed)]
        return verdicts[0], read(report.save_report([changed], verdicts, "t", tmp_path, "c")).text

    table = Table({name: column.copy() for name, column in outcome.table.columns.items()})
    table["violated_rounds"][:] = 0
    good, before = text_of(outcome._replace(table=table))
    table["violated_rounds"][:] = 12345
    bad, after = text_of(outcome._replace(table=table))
    assert (good.verdict, bad.verdict) == (claims.HOLDS, claims.FAILS)
    assert "12,345" in after
    assert "12,345" not in before
    assert "1 claims judged" in before


def test_every_figure_names_its_data_and_is_saved_as_png_and_pdf(outcome):
    for name in FIGURES:
        assert (outcome.folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (outcome.folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        texts = [text.get_text() for text in figures_results.draw(outcome, name).texts]
        assert any("Data: synthetic" in text and "6 trials on 3 instances" in " ".join(text.split()) for text in texts)


def test_a_curve_ends_at_the_mean_of_the_last_round(outcome):
    figure = figures_results.draw(outcome, "one")
    line = figure.axes[0].lines[0]
    rows = outcome.table.final().where(policy="ckb-ucb", width_scale=1.0)
    means = [rows.where(instance=i)["strong_regret"].mean() for i in range(3)]
    assert line.get_xydata()[-1] == pytest.approx([40, sum(means) / 3])


def test_a_final_figure_shows_every_mean_within_its_axes(outcome):
    (axes,) = figures_results.draw(outcome, "two").axes
    (low, high), (left, right) = axes.get_ylim(), axes.get_xlim()
    final = outcome.table.final()
    for policy in ("ckb-ucb", "queue", "stageopt"):
        for width_scale in (1.0, 0.2):
            rows = final.where(policy=policy, width_scale=width_scale)
            mean = sum(rows.where(instance=i)["violation"].mean() for i in range(3)) / 3
            assert low < mean < high
            assert left < width_scale < right


def test_a_heat_map_shows_every_grid_point_and_frames_the_primary_one(outcome):
    axes = figures_results.draw(outcome, "four").axes
    assert len(axes) == 3  # one per policy
    assert len(axes[0].texts) == 2
    assert [len(panel.lines) for panel in axes] == [1, 1, 1]


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ({"kind": "curve", "y": "violation"}, "Did you mean 'curves'"),
        ({"kind": "curves", "y": "violaton"}, "Did you mean 'violation'"),
        ({"kind": "curves", "y": "violation", "panel": ["width_scale"]}, "Did you mean 'panels'"),
        ({"kind": "curves", "y": "violation", "panels": ["width_scal"]}, "Did you mean 'width_scale'"),
        ({"kind": "curves", "y": "violation", "panels": 3}, "a name, or a list of names"),
        ({"kind": "curves", "y": "violation", "policies": ["nosuch"]}, "expected one of"),
        ({"kind": "curves", "y": "violation", "log": "yes"}, "expected one of"),
        ({"kind": "curves", "y": "violation", "title": 3}, "expected text"),
        ({"kind": "curves"}, "expected y for a figure of this kind"),
        ({"kind": "curves", "y": []}, "expected y for a figure of this kind"),
        ({"kind": "curves", "y": 3}, "a name, or a list of names"),
        ({"kind": "final", "y": "violation"}, "expected x for a figure of this kind"),
        ({"kind": "final", "y": "violation", "x": ["width_scale"]}, "x: expected one of"),
        ({"kind": "heat", "y": "violation", "rows": ["width_scale"]}, "expected columns for"),
        ({"kind": "times", "x": "width_scale"}, "one for measure = 'scores'"),
        (3, "expected a table"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused_before_the_work(figure, says):
    with pytest.raises(sb.ArgumentError, match=says):
        tiny(figures={"one": figure})


def test_a_figure_name_that_is_no_file_name_is_refused():
    with pytest.raises(sb.ArgumentError, match="letters, digits"):
        tiny(figures={"../escaped": FIGURES["one"]})


def test_times_are_drawn_with_their_exponents_and_reported(tmp_path):
    spec = tiny(
        measure="time", horizon=2, trials=1, instances=1, policies={"ckb-ucb": {}}, primary={},
        grid={"problem.arms": [10, 20, 40]}, figures={"t": {"kind": "times", "x": "problem.arms"}},
    )  # fmt: skip
    (outcome,) = runner.run([spec], [runner.check(spec, None)], tmp_path)
    assert (tmp_path / "tiny" / "times.csv").exists()
    reproduce.draw(outcome)
    figure = figures_results.draw(outcome, "t")
    assert "ckb-ucb: $n^" in figure.axes[0].get_legend().get_texts()[0].get_text()
    assert "microseconds" in read(report.save_report([outcome], [], "t", tmp_path, "c")).text


def test_the_name_of_a_file_is_escaped_in_the_page(outcome, tmp_path):
    name = "<img src='x' onerror='alert(1)'>"
    path = report.save_report([outcome._replace(spec=replace(outcome.spec, name=name))], [], "Tiny", tmp_path, "run")
    assert "<img src='x'" not in path.read_text()
    assert name in read(path).text
