"""Markdown for pull requests: what others wrote is shown as it is, and does nothing."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt  # which rich brings

from psips.report import markdown as md

NASTY = (
    "**bold** _it_ ~~gone~~",
    "<img src=x onerror=alert(1)>",
    "<!-- --><script>",
    "[click](https://evil.example)",
    "![](https://evil.example/pixel)",
    "https://evil.example www.evil.example a@b.example",
    "@everyone and @org/team, #12, owner/repo#12, GH-7",
    "a | b || c",
    "`tick` ``two``",
    "> quote",
    "# head",
    "- list",
    "1. list",
    "10) list",
    "=====",
    "$x$ and $$y$$",
    "&lt;b&gt; &copy;",
    "\x1b[2Jred\u202e",
    "line\nbreak\r\n\n# more",
    "</details>",
    "\\",
    "a\\|b",
    "```",
)


def rendered(text: str) -> str:
    parser = MarkdownIt("commonmark", {"html": True, "linkify": False})
    return parser.enable(["table", "strikethrough"]).render(text)


def words(html: str) -> str:
    """What a reader sees of HTML."""
    bare = re.sub(r"</?span>", "", html)
    assert not re.search(r"<(?!/?(p|code|table|thead|tbody|tr|th|td)[ >])", bare), bare
    return unescape(re.sub(r"<[^>]*>", "", bare)).replace("\u200b", "").strip()


def plainly(text: str) -> str:
    from psips.input.escaping import one_line

    return one_line(text).strip()


@pytest.mark.parametrize("text", NASTY)
def test_a_sentence_is_shown_as_it_is(text: str) -> None:
    assert words(rendered(md.escape(text))) == plainly(text)


@pytest.mark.parametrize("text", NASTY)
def test_a_name_is_shown_as_it_is_in_a_table(text: str) -> None:
    html = rendered(md.table(["option", "x"], [[text, text]]))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html, re.DOTALL)
    assert len(cells) == 2
    assert cells[0].startswith("<code>")
    # within code a renderer keeps the backslashes of the text, but takes those before bars
    assert [words(cell) for cell in cells] == [plainly(text)] * 2


def test_a_text_mentions_and_links_nothing() -> None:
    text = md.escape("@user x@y.z #12 o/r#3 GH-4 https://h.example www.h.example 1234567abc")
    text = text.replace(md.BREAK, " ")
    assert not re.search(r"@\w|#\w|GH-|://|www\.|[0-9a-f]{7}", text)


@given(st.text(max_size=40))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    shown = words(rendered(md.escape(text)))
    assert " ".join(shown.split()) == " ".join(plainly(text).split())


def test_details_cannot_be_closed_from_within() -> None:
    text = md.folded("a </summary>", md.block("x\n```\n</details>\n````\n"))
    assert text.count("</details>\n") == 2  # one of them is in the block
    assert text.splitlines()[3].startswith("`````")
    assert "</summary>\n" in text
    assert text.count("</summary>") == 1


def test_many_rows_and_long_details_are_cut() -> None:
    rows = [[f"arm {k}", "1"] for k in range(60)]
    assert "and 10 more rows" in md.table(["arm", "x"], rows)
    text = md.comment("first\n", "x" * 70_000, "last\n")
    assert text.startswith("first")
    assert "did not fit" in text
    assert len(text) < 1000


def test_unknown_kinds_of_alerts_are_refused() -> None:
    with pytest.raises(AssertionError):
        md.alert("DANGER", "x")
