"""Erasure certificates: the document, its signature, the signing keys."""
