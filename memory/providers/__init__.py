"""Whoever keeps memory behind one contract: retain, recall, forget, health."""
