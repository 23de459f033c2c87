"""The provider contract with capabilities: a second face over what is remembered.

``types`` are the shapes, ``errors`` the errors, ``extensions`` the ten things a
provider may do beyond the five everyone does, ``base`` the class to derive from,
``registry`` how several start and stop together.
"""
