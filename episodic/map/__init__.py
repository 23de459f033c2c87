"""The picture of memory: every embedded entry as a point of a plane."""
