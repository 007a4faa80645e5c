"""The members of a run on its page: the map to choose from, and one of them in detail."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

from polygait.cohort import Assignment
from polygait.population.manifest import MemberEntry
from polygait.progress import amount
from polygait.report.feet import foot_title
from polygait.report.pictures.recording import Recording
from polygait.report.pictures.video import STRIP_SECONDS, strip_window
from polygait.report.run.chart import MEMBERS
from polygait.report.run.contents import PageCharts
from polygait.report.run.descriptors import Descriptor, described_axes
from polygait.report.run.evidence import UNKNOWN
from polygait.report.run.findings import Findings
from polygait.report.run.gallery import Gallery
from polygait.report.web.html import Html, command, joined, tag


def members_section(findings: Findings, gallery: Gallery, charts: PageCharts) -> Html:
    """The map on one side, the chosen member on the other."""
    tabs = tag(
        "div",
        *(_tab(entry, findings) for entry in findings.entries),
        role="tablist",
        aria_label="members",
        class_="tabs",
    )
    told = tag("p", f"Return when nothing is wrong: {findings.nominal.source}.", class_="caption")
    panels = [_panel(entry, findings, gallery, charts) for entry in findings.entries]
    side = _map(findings, gallery, charts)
    detail = tag("div", *panels, class_="panels")
    beside = tag("div", side, detail, class_="split" if side else "whole")
    return joined([tabs, told, beside, charts.others(MEMBERS)])


def picture_rows(images: Sequence[bytes], alt: str) -> Html:
    """A strip as a few images, one under the other."""
    return tag(
        "div",
        *(
            tag("img", src=_uri(image, "image/png"), alt=alt if not place else "")
            for place, image in enumerate(images)
        ),
        class_="strip",
    )


def _map(findings: Findings, gallery: Gallery, charts: PageCharts) -> Html | None:
    offered, rows = described_axes(findings, gallery)
    if len(offered) < 2:
        return None
    choices = [_axis_choice(axis, offered, place, rows) for place, axis in enumerate(("x", "y"))]
    return tag(
        "div",
        charts.take("population-map"),
        tag("div", *choices, class_="axes"),
        class_="map",
    )


def _axis_choice(
    axis: str, offered: Sequence[Descriptor], place: int, rows: Sequence[dict[str, Any]]
) -> Html:
    options = [
        tag(
            "option",
            descriptor.title,
            value=descriptor.key,
            data_format=descriptor.format,
            data_step=str(descriptor.step),
            data_domain=json.dumps(descriptor.domain(rows)),
            selected=index == place,
        )
        for index, descriptor in enumerate(offered)
    ]
    label = "across" if axis == "x" else "upwards"
    return tag(
        "label",
        f"{label} ",
        tag("select", *options, data_axis=axis, aria_label=f"what the map shows {label}"),
    )


def _tab(entry: MemberEntry, findings: Findings) -> Html:
    chosen = entry.index == findings.best
    score = findings.nominal.scores.get(entry.index, UNKNOWN)
    return tag(
        "button",
        tag("b", str(entry.index)),
        tag("span", number(score.mean)),
        type="button",
        role="tab",
        id=f"tab-{entry.index}",
        aria_controls=f"member-{entry.index}",
        aria_selected="true" if chosen else "false",
        aria_label=f"member {entry.index}, return {number(score.mean)}",
        tabindex=0 if chosen else -1,
        data_member=entry.index,
    )


def _panel(entry: MemberEntry, findings: Findings, gallery: Gallery, charts: PageCharts) -> Html:
    recordings = gallery.episodes.get(entry.index, [])
    return tag(
        "div",
        tag("h3", ": ".join(filter(None, [f"Member {entry.index}", _name(entry, findings)]))),
        _moving_picture(entry.index, findings, gallery, recordings),
        charts.take(f"contacts-member-{entry.index}"),
        _facts(entry, findings, recordings),
        id=f"member-{entry.index}",
        role="tabpanel",
        aria_labelledby=f"tab-{entry.index}",
        tabindex=0,
        hidden=entry.index != findings.best,
    )


def _name(entry: MemberEntry, findings: Findings) -> str:
    """What a member is called, or what it is for."""
    if assigned := Assignment.of(findings.run, entry.index):
        return f"specialist for {assigned.variation}, from member {assigned.origin}"
    return entry.summary.get("name", "")


def _moving_picture(
    member: int, findings: Findings, gallery: Gallery, recordings: Sequence[Recording]
) -> Html:
    if not recordings:
        why = next((gap.why for gap in findings.gaps if gap.what.startswith(f"Member {member} ")), "")
        return tag("p", f"This member cannot act: {why}", class_="note")
    parts: list[Html] = []
    if film := gallery.films.get(member):
        parts.append(
            tag(
                "video",
                src=_uri(film, "video/mp4"),
                controls=True,
                loop=True,
                muted=True,
                playsinline=True,
                preload="metadata",
                aria_label=f"member {member} in motion",
            )
        )
    if images := gallery.strips.get(recordings[0].job):
        parts.append(picture_rows(images, f"member {member}, {len(images)} rows of pictures"))
        parts.append(tag("p", _stretch(recordings[0]), class_="caption"))
    if not parts and not recordings[0].qpos.size:
        return tag("p", "No picture here; the summary says why.", class_="note")
    if not parts:
        words = [
            "No picture here; make one with ",
            command(f"polygait render {findings.path} --member {member} --out member-{member}.mp4"),
        ]
        return tag("p", *words, class_="note")
    return joined(parts)


def _stretch(recording: Recording) -> str:
    begin, end = (moment * recording.seconds_per_step for moment in strip_window(recording, STRIP_SECONDS))
    return f"From {begin:.1f} s to {end:.1f} s of its first episode, read row by row; shaded below."


def _facts(entry: MemberEntry, findings: Findings, recordings: Sequence[Recording]) -> Html:
    summary = entry.summary
    score = findings.nominal.scores.get(entry.index, UNKNOWN)
    facts = [
        ("return, mean actions", f"{number(score.mean)} ± {number(score.std)}"),
        ("falls", share(score.falls)),
        ("return in training", number(summary.get("training_return"))),
        ("novelty", _novelty(summary.get("novelty"))),
        ("steps", f"{entry.steps:,}"),
    ]
    if recordings and math.isfinite(recordings[0].speed):
        facts.insert(2, ("speed", f"{recordings[0].speed:.1f} m/s"))
    for place, foot in enumerate(recordings[0].feet if recordings else ()):
        mean = sum(float(recording.down[:, place].mean()) for recording in recordings) / len(recordings)
        facts.append((f"{foot_title(foot)} down", share(mean)))
    listed = tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts), class_="facts"
    )
    worlds = _worlds(entry.index, findings)
    return joined([listed, tag("p", *worlds, class_="worlds")]) if worlds else listed


def _worlds(member: int, findings: Findings) -> list[str]:
    """For which conditions a member was chosen."""
    choices = findings.choices()
    mine = [
        f"{condition}{f' on {where}' if where else ''}"
        for (where, _, condition), choice in choices.items()
        if choice.member == member
    ]
    if not choices:
        return []
    return (
        ["Chosen for: ", tag("b", ", ".join(mine))]
        if mine
        else ["Chosen for none of the measured conditions."]
    )


def _novelty(value: Any) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.1f} nats"


def number(value: Any) -> str:
    """A return for people."""
    return "–" if value is None or not math.isfinite(value) else amount(value).replace("-", "−")


def share(value: Any) -> str:
    """A share for people."""
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.0f} %"


def _uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
