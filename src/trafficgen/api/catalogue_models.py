"""Looking at models: `trafficgen models list`, `show` and `schema`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from trafficgen.catalogue import entry_digest, entry_names, load_entry, load_model
from trafficgen.models import Model, PublishedModel, model_json_schema

_TRANSPORT_NAMES = ("transport", "traffic_transport")


@dataclass(frozen=True)
class CatalogueModel:
    """A line of `trafficgen models list`.

    Attributes:
        model: The catalogue entry.
    """

    model: PublishedModel

    @property
    def name(self) -> str:
        """Name by which it is loaded."""
        return self.model.name

    @property
    def transport(self) -> str | None:
        """Transport of the media when nothing is set; None where the entry does not say."""
        values = {name: part.value for name, part in self.model.mechanism.parameters.items()}
        values |= {name: option.default for name, option in self.model.options.items()}
        found = next((values[name] for name in _TRANSPORT_NAMES if values.get(name) is not None), None)
        return self.model.transport if found is None else str(found)

    @property
    def options(self) -> dict[str, JsonValue]:
        """What the papers varied -> the value when nothing is set."""
        return {name: option.default for name, option in self.model.options.items()}

    @property
    def citation(self) -> str:
        """First of its citations on one line."""
        return self.model.provenance.citations[0].text

    def to_json(self) -> dict[str, Any]:
        """Return the line as `trafficgen models list --json` prints it."""
        return {
            "name": self.name,
            "description": self.model.description,
            "transport": self.transport,
            "options": self.options,
            "citation": self.citation,
            "review": self.model.provenance.review,
            "digest": entry_digest(self.model),
        }


def models_list() -> tuple[CatalogueModel, ...]:
    """Return the models of the catalogue, by name."""
    return tuple(CatalogueModel(load_entry(name)) for name in entry_names())


def models_show(name: str | Path) -> Model | PublishedModel:
    """Return a model of the catalogue by its name, or the model in a JSON or YAML file; checked against the schema.

    Raises:
        ModelFileError: If there is neither, or the file breaks the schema; the message names the key.
    """
    return load_model(name)


def models_schema() -> dict[str, object]:
    """Return the JSON Schema of the model file: a fitted model or a published one."""
    return model_json_schema()
