"""Export packet tables, and the laws of models, to other tools: one module per target."""
