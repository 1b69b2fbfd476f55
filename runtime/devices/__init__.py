"""The devices that run launches: one interface, several engines."""
