"""The journal: append, read, verify, compact and erase entries of a hash chain."""
