"""Workspaces, people, agents, API keys, invitations and login links."""
