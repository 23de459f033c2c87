"""The Model Context Protocol at ``/mcp``; ``crewship_memory/mcp.py`` serves it."""
