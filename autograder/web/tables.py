"""Tables that the server searches, sorts and splits into pages: they work without JavaScript."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.http import HttpRequest
from msgspec import Struct

PER_PAGE = 200
"""Rows of a page: a table of this length is still searched at a glance by the browser."""

Row = TypeVar("Row")


def fold_text(text: str) -> str:
    """Return a text without case and accents, to sort and search names: Müller stands beside Muller."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


class Table(Struct, Generic[Row], frozen=True, eq=False):
    """The page of a table that the address asks for."""

    page: Page[Row]
    query: str
    sort: str
    """The column that the rows are sorted by."""
    descending: bool
    total: int
    """Rows before the search."""
    filters: Mapping[str, str]
    """Further choices of the reader, which the addresses of other pages and orders repeat."""

    @property
    def order(self) -> str:
        """The order, as the address states it: ``-points``."""
        return f"-{self.sort}" if self.descending else self.sort

    def get_sort_url(self, column: str) -> str:
        """Return the address that sorts by a column, or reverses its order."""
        reverse = column == self.sort and not self.descending
        order = f"-{column}" if reverse else column
        return f"?{urlencode({'q': self.query, **self.filters, 'sort': order})}"

    @property
    def page_query(self) -> str:
        """The start of the address of another page in the same order."""
        return f"{urlencode({'q': self.query, **self.filters, 'sort': self.order})}&"


def build_table(
    request: HttpRequest,
    rows: Iterable[Row],
    columns: Mapping[str, Callable[[Row], Any]],
    text: Callable[[Row], str],
    filters: Mapping[str, str] | None = None,
) -> Table[Row]:
    """Select the rows of a page.

    Args:
        request: states ``q``, ``sort`` and ``page``; anything invalid is ignored.
        rows: all rows.
        columns: the sort key of each column; the first one is the default.
        text: the text of a row that is searched.
        filters: further choices that the rows have been selected by, by the name of the field.
    """
    everything = list(rows)
    query, order = request.GET.get("q", "").strip(), request.GET.get("sort", "")
    column = order.removeprefix("-")
    if column not in columns:
        column, order = next(iter(columns)), ""
    words = fold_text(query).split()
    matching = [row for row in everything if all(word in fold_text(text(row)) for word in words)]
    matching.sort(key=columns[column], reverse=order.startswith("-"))
    page = Paginator(matching, PER_PAGE).get_page(request.GET.get("page"))
    return Table(page, query, column, order.startswith("-"), len(everything), filters or {})
