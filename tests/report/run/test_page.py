"""A run's page as a file: complete, escaped, and honest about what is missing."""

import re
import shutil

import pytest
from tests.report.conftest import become_gymnasium, copy_run
from tests.report.run.measured import keep_adaptation, keep_evaluation, row

from polygait.errors import UserError
from polygait.population.store import RunFolder
from polygait.report.run.findings import gather
from polygait.report.run.gallery import Gallery
from polygait.report.run.page import ReportConfig, run_page, write_report

PLAIN = ReportConfig(pictures=False)


def own_text(page):
    """The page without the programs of others and without pictures."""
    text = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    return re.sub(r"data:[a-z/+4]+;base64,[A-Za-z0-9+/=]+", "data:", text)


def keep_damage(run):
    members = range(5)
    keep_evaluation(
        run,
        "damage",
        [row(member, "nominal", 500.0 - 100.0 * abs(member - 1)) for member in members]
        + [row(member, "broken-foot", 100.0 * member) for member in members]
        + [row(member, "foot-mass", 10.0, scale) for member in members for scale in (0.5, 1.0)],
    )
    keep_adaptation(run, "broken-leg", [[1.0], [2.0], [9.0], [3.0], [4.0]], best=2)
    keep_mesh(run)


def keep_mesh(run, suite="mesh"):
    """Member 4 alone is fast when nothing is wrong; member 2 survives a locked leg, and 0 stands in it."""
    speeds = {
        "nominal": [1.0, 1.0, 2.0, 1.0, 4.0],
        "broken(leg_joint)": [0.0, 0.5, 3.0, 0.5, 0.5],
        "gravity=1.4": [0.5, 0.5, 1.0, 0.5, 1.5],
    }
    rows = [
        row(
            member,
            world,
            100.0 * speed,
            returns=[100.0 * speed] * 2,
            mean_progress=8.0 * speed,
            mean_speed=speed,
            seconds=8.0,
            progress=[8.0 * speed] * 2,
            falls=0.0,
            episodes=2,
        )
        for world, members in speeds.items()
        for member, speed in enumerate(members)
    ]
    keep_evaluation(run, suite, rows)


def assert_complete(text):
    """Nothing comes from elsewhere."""
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", text)
    assert "default-src &#x27;none&#x27;" in text and "connect-src" not in text
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text


@pytest.mark.slow
def test_a_page_of_a_gymnasium_task_advises_only_what_works(run):
    become_gymnasium(run)
    text = own_text(write_report(run).path)
    assert "cannot be drawn" not in text  # it simulates a model of MuJoCo, whose file is known
    assert "not simulated" not in text and "TASK" not in text
    assert "polygait render" not in text and "--suite damage" not in text and "--suite mesh" in text


def test_a_page_without_anything_measured(run):
    report = write_report(run, config=PLAIN)
    assert report.path == run / "report.html" and report.renderer is None and not report.figures
    text = own_text(report.path)
    for word in (
        "walker · DiR · 5 members",
        "Member 4",
        "right_leg.position",
        "mujoco 4.0.0",
        "ppo.clip_ratio",
    ):
        assert word in text, word
    assert f"polygait evaluate {run} --suite damage" in text
    assert f"polygait render {run} --member 3 --out member-3.mp4" in text
    assert "After damage" not in text and "<img" not in text
    assert_complete(text)


def test_a_page_names_the_source_of_what_it_says(run):
    keep_evaluation(run, "damage", [row(one, "nominal", 50.0 if one == 3 else 40.0) for one in range(5)])
    keep_adaptation(run, "broken-foot", [[9.0] * 4] * 5, best=2, episodes=4, held_out=6)
    keep_adaptation(run, "broken-foot", [[9.0]] * 5, best=4)
    page = run / "page.html"
    page.write_text(run_page(gather(run), Gallery()))
    text = own_text(page)
    measured = "evaluation of suite damage (5 episodes each, seed 0)"
    assert f"Returns here are those when nothing is wrong: {measured}." in text
    assert "member 3, nothing wrong" in text and ">2<" in text and ">1.00 in 6<" in text
    assert "another member is chosen than the one that does best when nothing is wrong (member 3)" in text
    assert text.index("exhaustive adaptation (4 episodes each") < text.index(
        "exhaustive adaptation (1 episode each"
    )
    assert "All 2 adaptations that are kept" in text and "the end of training" not in text


def test_the_mesh_has_a_section_of_its_own(run):
    keep_mesh(run)
    findings = gather(run)
    assert {cell["variation"] for cell in findings.cells} == {"nominal"} and findings.best == 4
    page = run / "page.html"
    page.write_text(run_page(findings, Gallery()))
    text = own_text(page)
    assert "In 50 % of 2 changed worlds the chosen one of 5 members keeps at least half" in text
    assert "a member taken at random in 10 %" in text
    assert "leg locked" in text and "gravity × 1.4" in text and "0, stands still" in text
    assert "evaluation of suite mesh (2 episodes each, seed 0)" in text and "2.00 m/s" in text
    charts = re.findall(r'data-chart="([^"]+)"', text)
    assert [one for one in charts if one.startswith("mesh")] == [
        "mesh",
        "mesh-growth-survival",
        "mesh-growth-speed",
        "mesh-growth-return",
    ]
    assert "The mesh is not measured" not in text and "Damages unlike these" not in text
    keep_mesh(run, "unforeseen")
    findings = gather(run)
    assert {cell["variation"] for cell in findings.cells} == {"nominal"}
    page.write_text(run_page(findings, Gallery()))
    told = own_text(page).split("Damages unlike these")[1]
    assert "In 50 % of 2 changed worlds" in told and "suite unforeseen (2 episodes each, seed 0)" in told


def test_a_member_that_stands_still_is_said_to_on_the_page(run):
    rows = [row(0, "broken-foot", 1017.0, mean_speed=0.02), row(1, "broken-foot", 300.0, mean_speed=0.6)]
    keep_evaluation(run, "damage", rows)
    page = run / "page.html"
    page.write_text(run_page(gather(run), Gallery()))
    text = own_text(page)
    assert "1,017 (stands still)" in text and "300 (" not in text
    assert "polygait evaluate" in text and "--suite mesh --episodes 5" in text


@pytest.mark.slow
def test_a_page_with_pictures_and_films(run, tmp_path):
    keep_damage(run)
    report = write_report(run, tmp_path / "page.html", ReportConfig(video=True, renderer="rays"))
    assert report.renderer == "rays" and not report.gaps
    text = own_text(report.path)
    assert text.count("<video") == 5
    assert text.count("<img") == 5 * 2 + 2 * 2 + 1  # two rows per member, two sides of two damages, the robot
    assert "broken-leg" in text and "chosen, and best when nothing is wrong" not in text
    assert "In 2 of 2 changed worlds another member is chosen" in text


def test_names_are_text(tmp_path):
    run = copy_run(tmp_path / "<script>alert(1)<∕script> a&b \"c' <img>")
    keep_evaluation(run, "mine", [row(0, "<b>odd</b>", 1.0), row(1, "<b>odd</b>", 2.0)])
    text = write_report(run, tmp_path / "page.html", PLAIN).path.read_text()
    assert "<script>alert(1)" not in text and "<img>" not in text and "<b>odd" not in text
    assert "&lt;b&gt;odd" in text


def test_a_damaged_run_still_has_a_page(run):
    (run / "members" / "002.safetensors").write_bytes(b"short")
    text = own_text(write_report(run, config=PLAIN).path)
    assert "This member cannot act" in text and "truncated" in text and "Member 2 cannot be shown" in text
    shutil.rmtree(run / "members")
    text = own_text(write_report(run, config=PLAIN).path)
    assert "no member&#x27;s file is whole" in text and "Restore the run from a copy" in text


@pytest.mark.slow
def test_charts_for_papers(run, tmp_path):
    keep_damage(run)
    report = write_report(run, config=ReportConfig(pictures=False, figures=str(tmp_path / "figures")))
    names = {file.stem for file in report.figures}
    assert {
        "population-map",
        "contacts-member-0",
        "conditions",
        "sweep-foot-mass",
        "mesh",
        "mesh-growth-survival",
        "learning-curves",
        "bonus",
    } <= names
    assert len(report.figures) == 2 * len(names) == len(list((tmp_path / "figures").iterdir()))


@pytest.mark.slow
def test_a_large_page_stays_small(tmp_path):
    run = copy_run(tmp_path / "ten", steps=1000)
    folder = RunFolder.open(run)
    with folder.writing():
        for entry in list(folder.members.values()):
            twin = folder.load_member(entry.index)
            folder.save_member(entry.index + 5, twin, entry.steps, dict(entry.summary))
    conditions = [
        "nominal",
        "broken-foot",
        "broken-leg",
        "broken-thigh",
        "left-leg-sensor",
        "right-leg-sensor",
    ]
    rows = [row(member, name, 100.0 * member) for name in conditions for member in range(10)]
    scales = [round(0.5 + 0.1 * place, 1) for place in range(12)]
    rows += [
        row(member, name, 10.0 * member, scale)
        for name in ("foot-mass", "foot-friction")
        for scale in scales
        for member in range(10)
    ]
    keep_evaluation(run, "paper", rows)
    report = write_report(run)
    text = own_text(report.path)
    assert len(re.findall(r'<\w+ [^>]*role="tabpanel"', text)) == 10 and text.count("<img") >= 10 * 2
    assert report.size < 15e6


def test_a_page_must_be_html(run, tmp_path):
    with pytest.raises(UserError, match=r"End its name in \.html"):
        write_report(run, tmp_path / "page.pdf")
