"""The sections of a run's page, but for its members and the conditions in which they were measured."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from statistics import median
from typing import Any

from polygait.population.policies import GIVEN
from polygait.report.names import counted
from polygait.report.pictures.cards import CONTENT
from polygait.report.pictures.recording import Recording
from polygait.report.run.evidence import ChosenMember
from polygait.report.run.findings import Findings
from polygait.report.run.gallery import Gallery, Story
from polygait.report.run.members import number, picture_rows
from polygait.report.run.reproduce import run_command
from polygait.report.web.html import Html, command, joined, table, tag
from polygait.report.web.parts import flat, gap_list, tiles
from polygait.run_config import RunConfig
from polygait.tasks.state import StateLayout
from polygait.zoo import PREFIX, is_zoo


def summary_section(findings: Findings, gallery: Gallery) -> Html:
    """What was found, in four numbers and a sentence, and what is missing."""
    scores = findings.nominal.scores
    returns = [score.mean for score in scores.values()]
    choices = findings.choices()
    numbers = [
        (
            "members",
            str(len(findings.entries)),
            _steps_told(findings.config),
        ),
        ("best return", number(scores[findings.best].mean), f"member {findings.best}, nothing wrong"),
        ("median return", number(median(returns)), f"worst {number(min(returns))}"),
    ]
    if choices:
        used = len({choice.member for choice in choices.values()})
        numbers.append(("members in use", str(used), f"chosen over {counted(len(choices), 'world')}"))
    told = f"Returns here are those when nothing is wrong: {findings.nominal.source}."
    return joined(
        [
            tiles(numbers),
            _told(findings, choices),
            tag("p", told, class_="caption"),
            gap_list([*findings.gaps, *gallery.gaps]),
        ]
    )


def _steps_told(config: RunConfig) -> str:
    """How long members learned."""
    if not config.steps:
        return "trained elsewhere"
    if not config.specialists:
        return f"{config.steps:,} steps each"
    return f"{config.steps:,} steps each, {config.specialists} specialists {config.specialist_steps:,} more"


def _told(findings: Findings, choices: Mapping[tuple[str, str, str], ChosenMember]) -> Html | None:
    changed = [choice.member for (_, variation, _), choice in choices.items() if variation != "nominal"]
    if not changed:
        return None
    others = sum(member != findings.best for member in changed)
    return tag(
        "p",
        f"In {others} of {counted(len(changed), 'changed world')} another member is chosen than the one that "
        f"does best when nothing is wrong (member {findings.best}).",
        class_="lead",
    )


def damage_section(findings: Findings, gallery: Gallery) -> Html | None:
    """Damages one after another: who copes, and what would happen without a choice."""
    if not gallery.stories:
        return None
    intro = (
        "What is changed is red. Each time, first the member chosen for this world, then the one that does "
        f"best when nothing is wrong, by {findings.nominal.source}."
    )
    return joined([tag("p", intro), *(_story(story, gallery) for story in gallery.stories)])


def _story(story: Story, gallery: Gallery) -> Html:
    usual = "best when nothing is wrong"
    if story.chosen.job == story.usual.job:
        sides = [_side(story, story.chosen, f"chosen, and {usual}", gallery)]
    else:
        sides = [
            _side(story, story.chosen, "chosen", gallery),
            _side(story, story.usual, usual, gallery),
        ]
    named = None if story.condition == story.variation else tag("code", story.variation)
    shown = tag("div", *sides, class_="sides")
    told = f"Chosen by {story.choice.source}"
    if story.source.removeprefix("trials of ") != story.choice.source:
        told += f"; returns from {story.source}"
    caption = tag("p", f"{told}.", class_="caption")
    return tag("article", tag("h3", story.condition, " ", named), shown, caption, class_="story")


def _side(story: Story, recording: Recording, word: str, gallery: Gallery) -> Html:
    member, seconds = recording.job.member, recording.seconds
    ended = f"{'falls after' if recording.fell else 'stays up for'} {seconds:.1f} s"
    images = gallery.strips.get(recording.job, [])
    known = story.measured.get(member)
    said: list[str] = [f" ({word}): "]
    if known is not None:
        told = story.does.get(member)
        said += ["mean return ", tag("b", number(known)), f", {told}; " if told else "; "]
    said.append(f"in the episode shown it {ended} and earns {number(recording.total_reward)}.")
    return tag(
        "div",
        picture_rows(images, f"member {member} in {recording.job.variation}") if images else None,
        tag("p", tag("b", f"Member {member}"), *said),
    )


def robot_section(findings: Findings, gallery: Gallery) -> Html:
    """The robot with its names, and what the filter keeps of its state."""
    parts: list[Html] = []
    if gallery.card:
        uri = f"data:image/svg+xml;base64,{base64.b64encode(gallery.card.encode()).decode()}"
        words = f"{findings.config.task}: {CONTENT}"
        picture = tag("img", src=uri, alt=words)
        parts.append(tag("div", picture, class_="card", tabindex=0, role="region", aria_label=words))
    manifest = findings.run.manifest
    kept = set(manifest["filter"]["kept"])
    rows = []
    layout = StateLayout.from_json(manifest["layout"])
    for part, indices in layout.groups.items():
        names = [layout.names[index] for index in indices]
        count = sum(name in kept for name in names)
        verdict = {0: "removed", len(names): "kept"}.get(count, f"keeps {count}")
        shown = ", ".join(name.removeprefix(f"{part}.") for name in names[:6]) + (
            ", …" if len(names) > 6 else ""
        )
        rows.append([part, str(len(names)), shown, verdict])
    caption = (
        f"State: {layout.size} numbers, of which the filter keeps {len(kept)}; DiR does not see the rest"
    )
    return joined([*parts, table(["part", "size", "numbers", "filter"], rows, caption)])


def making_section(findings: Findings) -> Html:
    """How to make this run again."""
    manifest = findings.run.manifest
    if findings.config.method == GIVEN:
        return tag("p", "These policies were trained elsewhere; what is said of them was measured here.")
    settings = table(["setting", "value"], flat(_settings(findings.config)), "Configuration")
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    out = findings.path.replace(PREFIX, "runs/", 1) if is_zoo(findings.path) else findings.path
    return joined(
        [
            tag("p", "The same seed and versions on the same kind of machine give the same bits:"),
            tag("p", command(run_command(findings.config, manifest, out))),
            tag("p", f"Begun {_day(manifest['created'])}, last changed {_day(manifest['updated'])}."),
            tag("p", f"Versions: {versions}."),
            tag("details", tag("summary", "Every setting"), settings),
        ]
    )


def _settings(config: RunConfig) -> dict[str, Any]:
    """Every choice, under the names that --set takes."""
    plain = config.to_json()
    sections = {name: dataclasses.asdict(record) for name, record in config.sections.items()}
    return {name: plain[name] for name in plain if name not in ("learner", "method_config")} | {
        "learner": config.learner.name,
        **sections,
    }


def _day(moment: str) -> str:
    """A time of the manifest for people."""
    return moment.replace("T", " ").replace("+00:00", " UTC")
