"""What is measured: counters, histograms and gauges of every process, and spans."""
