"""What is left of a person after an erasure: making it vanish, and searching for it.

``patterns`` are byte strings and a fast search for many of them at once; ``stored`` is
what rows and known files say, ``raw`` the bytes of every file, ``paths`` the ways by
which one would read; ``sqlite`` and ``postgres`` do the physical work of each database.
"""
