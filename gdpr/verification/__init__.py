"""Verification of an erasure: clean the database's files, search for remaining matches.

``search`` runs everything: ``read_paths`` searches as a user would, ``byte_search``
finds many byte strings at once, ``file_scan`` applies it to every file, and
``expected_words`` reads the rows and files that stay. ``sqlite`` and ``postgres``
remove deleted text from each database's files. ``report`` has the counts.
"""
