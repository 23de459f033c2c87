"""The Memory Gateway, as a client for the turns of our agents and as a server.

Client: ``config`` (typed settings), ``strategies`` (curated, gateway or both behind one
interface), ``client`` (the requests), ``references`` (hits for a prompt), ``events``
(hidden audit), ``settings`` (what an admin chose), ``secrets`` (the sealed key),
``snapshots`` (curated files, frozen) and ``turns`` (running a strategy).
Server: ``routes``, ``schemas``, ``server`` and ``users`` (keys).
"""
