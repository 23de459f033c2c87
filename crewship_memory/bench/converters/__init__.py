"""Converters of published test sets, as they are downloaded, into labelled sets."""
