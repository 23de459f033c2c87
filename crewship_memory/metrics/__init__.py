"""Figures for Prometheus: of this machine's processes, and of the installation."""
