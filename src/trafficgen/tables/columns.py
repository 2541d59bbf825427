"""Columns of tables: the Arrow type of each, whether it may be null, and what it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: Its name, with the unit at the end.
        type: Its Arrow type.
        meaning: What it means, a sentence for people.
        is_nullable: Whether it may have nulls.
    """

    name: str
    type: pa.DataType
    meaning: str
    is_nullable: bool = False

    @property
    def field(self) -> pa.Field:
        """The column as a field of an Arrow schema."""
        return pa.field(self.name, self.type, nullable=self.is_nullable)


def nullable(name: str, kind: pa.DataType, meaning: str) -> Column:
    """Return a column that may have nulls."""
    return Column(name, kind, meaning, is_nullable=True)


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """Return the Arrow schema of columns."""
    return pa.schema([column.field for column in columns])
