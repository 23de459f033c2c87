"""Scheduled work: the registry of jobs, their status, and housekeeping."""
