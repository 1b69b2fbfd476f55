"""Mutation testing of our own packages: what is changed in a source, and how its tests are run cheaply."""
