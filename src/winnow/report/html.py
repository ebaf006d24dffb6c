"""Pieces of a self-contained page: no script, no font, no picture from anywhere else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

STYLE = """
:root { --ink: #1f2933; --muted: #66727f; --line: #e3e7ec; --soft: #f6f8fa; --blue: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--soft); color: var(--ink); font: 15px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .8rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
.lead, .note { color: var(--muted); }
.note { font-size: .87rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 1.5rem 0; }
.card, figure, .panel { background: #fff; border: 1px solid var(--line); border-radius: 10px; }
.card { padding: .8rem 1rem; }
.card b { display: block; font-size: 1.4rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card span { color: var(--muted); font-size: .82rem; }
figure { margin: 0 0 1rem; padding: 1rem; }
figure img { display: block; width: 100%; max-width: 46rem; height: auto; margin: 0 auto; }
figcaption { color: var(--muted); font-size: .87rem; margin: .6rem auto 0; max-width: 46rem; }
.panel { padding: .4rem 1rem; margin: 0 0 1rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { text-align: left; padding: .42rem .9rem .42rem 0; border-top: 1px solid var(--line); vertical-align: top; }
thead th, tbody:first-child tr:first-child td { border-top: 0; }
thead th { color: var(--muted); font-weight: 600; font-size: .82rem; }
td small { display: block; color: var(--muted); font-size: .78rem; }
.num { text-align: right; }
details { margin: 0 0 .6rem; }
summary { cursor: pointer; padding: .5rem 0; }
pre { margin: 0; font: .82rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.prompt { padding: .5rem 0 .7rem; }
.tag { display: inline-block; white-space: nowrap; border-radius: 99px; padding: 0 .6rem; font-size: .78rem; background: #eceff3; color: #4c5866; }
.tag.trained { background: #d8ebf7; color: #00507d; font-weight: 600; }
.tag.dropped { background: #f8e6dc; color: #8a4316; }
@media print { body { background: #fff; } details { break-inside: avoid; } }
"""  # noqa: E501


def page(title: str, lead: str, sections: Iterable[str]) -> str:
    """Return a whole document; ``title`` and ``lead`` are text, ``sections`` are HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n'
        + "\n".join(section for section in sections if section)
        + "\n</main>\n</body>\n</html>\n"
    )


def cards(facts: Iterable[tuple[str, str]]) -> str:
    """Return ``(value, what it is)`` pairs as a row of cards."""
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for value, name in facts)
        + "</div>"
    )


def picture(path: Path, caption: str) -> str:
    """Return a PNG file as a figure whose bytes stand inside the page; the caption is its alt text too."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    text = escape(caption, quote=True)
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def panel_table(rows: Iterable[Sequence[str]], header: Sequence[str] = (), *, numeric: Iterable[int] = ()) -> str:
    """Return `table` in a panel of its own."""
    return f'<div class="panel">{table(rows, header, numeric=numeric)}</div>'


def table(rows: Iterable[Sequence[str]], header: Sequence[str] = (), *, numeric: Iterable[int] = ()) -> str:
    """Return a table; cells are HTML, ``numeric`` the columns set flush right."""
    right = set(numeric)

    def line(cells: Sequence[str], kind: str) -> str:
        tags = (f'<{kind} class="num">' if place in right else f"<{kind}>" for place in range(len(cells)))
        return "<tr>" + "".join(f"{tag}{cell}</{kind}>" for tag, cell in zip(tags, cells, strict=True)) + "</tr>"

    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    body = "".join(line(row, "td") for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def heading(text: str, note: str = "") -> str:
    """Return a section title with an optional line under it; both are text."""
    return f"<h2>{escape(text)}</h2>" + (f'<p class="note">{escape(note)}</p>' if note else "")


def text(value: object) -> str:
    """Escape any value for use inside the page."""
    return escape(str(value))
