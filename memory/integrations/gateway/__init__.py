"""The Memory Gateway, both sides: what a turn recalls and keeps, and who is served.

As a client: ``config`` (typed), ``strategies`` (curated, gateway, both behind one
interface), ``client`` (the wire), ``events`` (hidden audit), ``setups`` and ``turns``
(what an admin chose, and running it). As a server: ``users`` (keys) and ``serving``.
"""
