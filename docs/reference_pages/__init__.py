"""Reference pages made from the code: commands, names, catalogue, files, targets, errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reference_pages.catalogue import entries, entry_page, index_page
from reference_pages.command_line import cli_page
from reference_pages.findings import findings_page
from reference_pages.formats import errors_page, packet_table_page, targets_page, trace_formats_page
from reference_pages.model_file import model_file_page
from reference_pages.python_names import python_page
from reference_pages.workload_file import workload_file_page

#: Page in docs/reference -> function that makes it.
PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "model-file.md": model_file_page,
    "workload-file.md": workload_file_page,
    "catalogue.md": index_page,
    **{f"catalogue/{model.name}.md": partial(entry_page, model.name) for model in entries()},
    "findings.md": findings_page,
    "packet-table.md": packet_table_page,
    "export-targets.md": targets_page,
    "trace-formats.md": trace_formats_page,
    "errors.md": errors_page,
    "python.md": python_page,
}
