"""Data subjects: who they are, their aliases, restrictions and consents."""
