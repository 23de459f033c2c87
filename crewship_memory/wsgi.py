"""The door for a web server that starts us: ``crewship_memory.wsgi:application``."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")

application = get_wsgi_application()
