"""The JSON API of this package: routers and schemas."""
