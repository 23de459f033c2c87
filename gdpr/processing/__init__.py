"""The record of processing (Article 30): who answers, why, with whom, how long."""
