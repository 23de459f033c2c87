"""Django's PostgreSQL with connections that notice a server that went away."""
