"""Reports on requests: the month, the register, the audit log, the calendar."""
