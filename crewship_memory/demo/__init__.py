"""The demo workspace: five weeks in the life of an outdoor-gear shop."""
