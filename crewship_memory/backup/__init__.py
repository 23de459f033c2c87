"""Backup, restore and the move to PostgreSQL: one stream of rows and bodies.

``make`` writes it, ``restore`` reads it into an empty installation, ``move`` copies the
rows into another database without a file. The parts: ``envelope`` (encryption),
``frames`` (the pieces of the stream), ``tables`` and ``rows`` (the database),
``bodies``, ``key_store`` and ``fingerprints`` (the data folder), ``samples`` (recalls).
"""
