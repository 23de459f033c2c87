"""Whether this installation keeps what its wires promise, tried on itself.

``stand`` is a workspace that is made for one run and removed after it, with a server of
this very application on a loopback port. ``wires`` hold the promises: a sentence, and
the requests that try it, without any client's code. ``runs`` carries them out as a job,
keeps the results and tells of them.
"""
