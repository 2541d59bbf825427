"""Settings of Sphinx for the documentation site; `build_site.py` lays out its sources."""

from __future__ import annotations

from importlib.metadata import version as version_of

# Names that Sphinx reads.
project = "trafficgen"
author = "The trafficgen developers"
project_copyright = author
release = version = version_of("trafficgen-streaming")

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
# Headings can be linked to, by the names that a forge gives them too.
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"trafficgen {version}"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
# Summaries of search results are fetched, which browsers refuse for files on a disk.
html_show_search_summary = False
html_theme_options = {
    "light_css_variables": {"font-stack": "system-ui, sans-serif"},
    "top_of_page_buttons": [],
}
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
# Console blocks hold what commands printed; quotation marks and dashes stay as they were written.
smartquotes = False
