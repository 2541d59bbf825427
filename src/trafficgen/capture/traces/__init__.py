"""Traces of other tools: packet lists, frame sizes, inputs of simulators, logs of load testers."""
