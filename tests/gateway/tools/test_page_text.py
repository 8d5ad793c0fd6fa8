"""The text of HTML pages: as a reader sees them, and in time that grows with their length alone."""

from __future__ import annotations

import pytest
from tests.counted_work import count_calls

from dragoman.gateway.tools.page_text import read_text, read_title

PAGES = {
    "<p>One <b>two</b></p><p>three": "One two\n\nthree",
    "a<br>b<BR/>c": "a\nb\nc",
    "<head><title>T</title></head><body>x": "x",
    "<script>if (a<b) { '</p>' }</script>after": "after",
    "<STYLE>p{}</STYLE >after<!-- <p>no --> comment": "after comment",
    "1 < 2 &lt;b&gt; &amp;amp; &eacute;": "1 < 2 <b> &amp; é",
    "<tr><td>1<td>2</tr>": "1 2",
    "<p>  many \t spaces \n\n\n\n and lines": "many spaces\n\nand lines",
    "<a href='x": "",
    "<script>never ends <p>": "",
    "İ<p>x": "i̇\nx",
    "{{ template }} ${x}": "{{ template }} ${x}",
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_as_it_is_seen(page: str) -> None:
    assert read_text(page, 1000) == PAGES[page]


def test_a_title_is_one_line() -> None:
    assert read_title("<html><TITLE lang=en>A &amp;\n  B</title>") == "A & B"
    assert read_title("<title") == read_title("<p>x") == ""


@pytest.mark.parametrize("piece", ["<", "<!--", "<a ", "<script>", "<p>", "&", "&#", "</svg", "\n \n"])
def test_work_grows_with_the_length_alone(piece: str) -> None:
    """Counted in calls of functions, since no test looks at a clock."""

    def calls(count: int) -> int:
        return count_calls(lambda: read_text(piece * count, 100_000))

    assert calls(2000) <= 2 * calls(1000) + 100
