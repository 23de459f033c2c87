"""Requests as they arrive: by the public form, or forwarded by a program.

``receive`` opens a case, or notes a duplicate on the open one. ``form`` keeps a request
until the sender has opened the link that was mailed to them.
"""
