"""`trafficgen models`: looking at model files and their schema."""

from __future__ import annotations

from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._output import print_json

app = typer.Typer(no_args_is_help=True, help="Look at model files and at their schema.")


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of the model file.

    Example: trafficgen models schema > model.schema.json
    """
    print_json(trafficgen.model_json_schema())


@app.command("show")
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="Model file.")]) -> None:
    """Print a model file, checked against the schema.

    Example: trafficgen models show model.json
    """
    print_json(trafficgen.load_model(name).model_dump(mode="json"))
