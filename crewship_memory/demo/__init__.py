"""The demo workspace: five weeks of an outdoor-gear shop."""
