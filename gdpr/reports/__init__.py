"""Reports on requests: the month, the register, the record, calendar, exports."""
