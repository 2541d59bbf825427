"""Reports of results: text, tables and charts, as one HTML file or as plots for papers."""
