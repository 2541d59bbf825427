"""The media flows of a session as streams of a model."""
