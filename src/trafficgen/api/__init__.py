"""The functions that the package exports under the names of the commands, one module for each step
of the road.
"""
