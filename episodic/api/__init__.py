"""The JSON API of this package: routers, schemas and serializers."""
