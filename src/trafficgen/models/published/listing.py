"""Models as the command `trafficgen models` lists and shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from trafficgen.data_frames import frame_rows
from trafficgen.errors import ModelFileError
from trafficgen.formatting import format_count
from trafficgen.models import Model, ModelHolder, PublishedModel, model_in, model_json_schema
from trafficgen.models.differences import ModelDifferences, find_differences
from trafficgen.models.published import entry_digest, entry_names, load_model
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.processes.registered.source import SOURCES

if TYPE_CHECKING:
    import pandas as pd

_PLAIN = (str, int, float, list, dict, type(None))  # what JSON holds
_TRANSPORT_NAMES = ("transport", "traffic_transport")


@dataclass(frozen=True, eq=False)
class CatalogueModel(NotebookView):
    """A line of `trafficgen models list`.

    Attributes:
        model: The catalogue entry, or the model of a source of your own.

    Example:
        >>> import trafficgen
        >>> entries = {entry.name: entry for entry in trafficgen.models_list()}
        >>> entry = entries["wmedia9_nichols2004"]
        >>> entry
        <CatalogueModel wmedia9_nichols2004: udp, 2 options>
        >>> entry.options
        {'encoding_rate_kbps': 340, 'ladder_kbps': None}
        >>> entry.citation
        'Nichols (2004): Measurement of Windows Streaming Media. M.Sc. thesis, Worcester Polytechnic
        Institute...'
    """

    model: Model | PublishedModel

    @property
    def name(self) -> str:
        """Name by which it is loaded."""
        return self.model.name

    @property
    def group(self) -> str:
        """Heading under which it is listed."""
        return "registered" if isinstance(self.model, Model) else self.model.group

    @property
    def transport(self) -> str | None:
        """Transport of the media by default; None if the entry does not give it."""
        if isinstance(self.model, Model):
            return self.model.streams[0].transport.protocol
        values = {name: part.value for name, part in self.model.mechanism.parameters.items()}
        values |= self.options
        found = [values[name] for name in _TRANSPORT_NAMES if values.get(name) is not None]
        return str(found[0]) if found else self.model.transport

    @property
    def options(self) -> dict[str, JsonValue]:
        """Options that the papers varied -> default."""
        if isinstance(self.model, Model):
            defaults = SOURCES[self.name].defaults.items()
            return {name: value for name, value in defaults if isinstance(value, _PLAIN)}
        return {name: option.default for name, option in self.model.options.items()}

    @property
    def citation(self) -> str:
        """First of its citations on one line."""
        if isinstance(self.model, Model):
            return f"registered by {getattr(self.model.provenance, 'module', 'a module')}"
        return self.model.provenance.citations[0].text

    @property
    def review(self) -> str:
        """Whether a second derivation agrees: ``provisional``, ``second-hand`` or ``reviewed``.

        ``registered`` of a source of your own.
        """
        if isinstance(self.model, Model):
            return "registered"
        return self.model.provenance.review

    def __repr__(self) -> str:
        options = format_count(len(self.options), "option")
        return f"<CatalogueModel {self.name}: {self.transport or 'unknown transport'}, {options}>"

    def _notebook_data(self) -> dict[str, object]:
        return {"name": self.name, **self.model._notebook_data()}

    def to_json(self) -> dict[str, Any]:
        """Return the line as `trafficgen models list --json` prints it."""
        return {
            "name": self.name,
            "group": self.group,
            "description": self.model.description,
            "transport": self.transport,
            "options": self.options,
            "citation": self.citation,
            "review": self.review,
            "digest": entry_digest(self.model),
        }


class CatalogueModels(tuple[CatalogueModel, ...], NotebookView):
    """The lines of `trafficgen models list`, a tuple; its chart is the rate that each plays."""

    def __repr__(self) -> str:
        return f"<CatalogueModels: {format_count(len(self), 'model')}>"

    def search(self, *words: str) -> CatalogueModels:
        """Return those that have all words in their names, groups, texts, options or citations."""
        wanted = [word.casefold() for word in words]

        def has_all(one: CatalogueModel) -> bool:
            text = " ".join(
                (one.name, one.group, one.model.description, one.citation, *one.options)
            ).casefold()
            return all(word in text for word in wanted)

        return CatalogueModels(filter(has_all, self))

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a model, by its name: what it plays, over what, and where it is from."""
        columns = {
            "name": str,
            "group": str,
            "description": str,
            "transport": str,
            "options": int,
            "citation": str,
            "review": str,
        }
        rows = ({**one.to_json(), "options": len(one.options)} for one in self)
        return frame_rows(rows, columns).set_index("name")

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen models list --json` prints."""
        return {"models": [one.to_json() for one in self]}


def models_list() -> CatalogueModels:
    """Return the models of the catalogue, by name, then sources of your own.

    Example:
        >>> import trafficgen
        >>> [entry.name for entry in trafficgen.models_list().search("players of today", "bola")]
        ['dashjs']
        >>> int(trafficgen.models_list().to_pandas().loc["cbr", "options"])
        3
    """
    return CatalogueModels(CatalogueModel(load_model(name)) for name in [*entry_names(), *SOURCES])


@checks_arguments
def models_show(name: str | Path) -> Model | PublishedModel:
    """Return a model of the catalogue by its name, or the checked model in a JSON or YAML file.

    Raises:
        ModelFileError: If there is neither, or the file breaks the schema; the message names the
            key.

    Example:
        >>> import trafficgen
        >>> model = trafficgen.models_show("realvideo10_boyden2005")
        >>> model
        <PublishedModel realvideo10_boyden2005: realvideo10, 1 option, reviewed>
        >>> print(model.provenance.citations[0].text)
        Boyden, Mahanti, Williamson (2005): Characterizing the Behaviour of RealVideo Streams.
        University of Calgary
    """
    return load_model(name)


@checks_arguments
def models_diff(
    first: Model | ModelHolder | str | Path, second: Model | ModelHolder | str | Path
) -> ModelDifferences:
    """Return what differs between two fitted models beyond the uncertainty of their estimates.

    Estimates differ if their intervals do not overlap, laws if their distance is more than chance
    explains for independent observations.

    Args:
        first: A fitted model, a fit or the name of a model file.
        second: Another.

    Raises:
        ModelFileError: If there is no such file, it breaks the schema, or a model is published.

    Example:
        >>> import trafficgen
        >>> model = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz").model
        >>> changed = model.model_copy(update={"buffering": None, "streams": model.streams[:1]})
        >>> for one in trafficgen.models_diff(model, changed).differences:
        ...     print(one.what, one.describe())
        streams.audio differs
    """
    return find_differences(_fitted(first), _fitted(second))


def _fitted(name: Model | ModelHolder | str | Path) -> Model:
    model = load_model(name) if isinstance(name, str | Path) else model_in(name)
    if isinstance(model, Model):
        return model
    raise ModelFileError(
        file=model.name,
        problem="is a published model, whose numbers have no intervals",
        remedy="give models that [`trafficgen fit` wrote|fit() made]",
    )


def models_schema() -> dict[str, object]:
    """Return the JSON Schema of the model file: a fitted model or a published one.

    Example:
        >>> import json, pathlib, trafficgen
        >>> _ = pathlib.Path("model.schema.json").write_text(json.dumps(trafficgen.models_schema()))
        >>> trafficgen.models_schema()["title"]
        'Model file'
    """
    return model_json_schema()
