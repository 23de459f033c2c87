"""Memory providers behind one contract: retain, recall, forget, health."""
