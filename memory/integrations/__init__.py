"""Other systems' clients and contracts, one folder each, over our own services.

A folder holds an ``integration.py`` with an ``INTEGRATION``: its name, how to connect,
its routes and its self-test. To add one, copy a folder (``langgraph`` is the smallest
with routes, schemas and filters) and change the name and the addresses in it. It is
then mounted, throttled, limited, listed on the page and tested; put its name into
``registry.ORDER`` if it should not come last.

``base`` is what they share, ``registry`` finds them, ``selftest_server`` and
``selftest_runs`` try what each promises on this installation. ``agent_tools``,
``provider_tools`` and ``turn_memories`` serve agents over our own API and MCP.
"""
