"""Model files of earlier versions, written in the present one: `trafficgen models migrate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trafficgen import html_view as html
from trafficgen.catalogue import read_model_file
from trafficgen.errors import OutputFileError
from trafficgen.formatting import format_count, one_line
from trafficgen.models import Model, PublishedModel, save_model


@dataclass(frozen=True, repr=False)
class Migration:
    """A model file that was written in the present schema version.

    Attributes:
        model: The model.
        from_version: Schema version of the file that was read.
        to_version: Schema version of the file that was written.
        steps: What was changed on the way, a sentence for each version between; empty where none
            was needed.

    Example:
        >>> import json, pathlib, trafficgen
        >>> model = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz").model
        >>> content = {**model.model_dump(mode="json"), "schema_version": "1.0"}
        >>> _ = pathlib.Path("old.json").write_text(json.dumps(content))
        >>> done = trafficgen.models_migrate("old.json", "new.json")
        >>> print(done.from_version, "->", done.to_version, done.steps)
        1.0 -> 1.1 ('addresses in names of files are masked',)
    """

    model: Model | PublishedModel
    from_version: str
    to_version: str
    steps: tuple[str, ...]

    def __repr__(self) -> str:
        changes = format_count(len(self.steps), "change")
        return (
            f"<Migration {one_line(self.model.name)}: {self.from_version} -> {self.to_version},"
            f" {changes}>"
        )

    def _repr_html_(self) -> str:
        return html.view(
            f"Migration of {self.model.name}",
            html.facts(
                [
                    ("from", self.from_version),
                    ("to", self.to_version),
                    ("changes", "; ".join(self.steps)),
                ]
            ),
        )

    def to_json(self) -> dict[str, object]:
        """Return the versions and the steps as JSON-compatible values."""
        return {
            "from_version": self.from_version,
            "to_version": self.to_version,
            "steps": list(self.steps),
        }


def models_migrate(file: str | Path, out: str | Path) -> Migration:
    """Write a model file in the present schema version, as JSON; what it was made from stays as it
    is.

    Files of earlier versions need no migration to be read: they take the same steps whenever they
    are loaded. A published model that extends a catalogue entry is written with what it takes from
    there.

    Args:
        file: Model file, JSON or YAML.
        out: File to write: another one.

    Raises:
        ModelFileError: If the file cannot be read, breaks the schema, or has a version that is not
            known.
        OutputFileError: If ``out`` is that file, or cannot be written.

    Example:
        >>> import trafficgen
        >>> model = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz").model
        >>> trafficgen.save_model(model, "model.json")
        >>> trafficgen.models_migrate("model.json", "same.json").steps  # of the present version already
        ()
    """
    found = read_model_file(file)
    target = Path(out)
    if target.exists() and target.samefile(file):
        problem = "is the file to be migrated, which is kept"
        raise OutputFileError(
            file=str(out), problem=problem, remedy="write to another name: -o NEW"
        )
    save_model(found.model, target)
    return Migration(
        model=found.model,
        from_version=found.version,
        to_version=found.model.schema_version,
        steps=tuple(step.summary for step in found.steps),
    )
