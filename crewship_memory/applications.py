"""Applications, middleware, templates and the content security policy.

No environment variable changes any of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

INSTALLED_APPS: Final = [
    "crewship_memory.apps.CrewshipMemoryConfig",
    "memory.apps.MemoryConfig",
    "episodic.apps.EpisodicConfig",
    "gdpr.apps.GdprConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "django_htmx",
    "django_structlog",
    "template_partials",
    "csp",
    "ninja",
]

MIDDLEWARE: Final = [
    "crewship_memory.client_address.ClientAddressMiddleware",
    "crewship_memory.middleware.measuring.MeasuringMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "crewship_memory.middleware.language.LanguageMiddleware",
    "crewship_memory.middleware.request_limits.RequestLimitsMiddleware",
    "crewship_memory.middleware.anonymous_throttle.AnonymousThrottleMiddleware",
    "crewship_memory.middleware.content_policy.ContentPolicyMiddleware",
    "crewship_memory.middleware.write_guard.WriteGuard",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "crewship_memory.middleware.actor.RequestLogMiddleware",
    "crewship_memory.middleware.actor.ActorMiddleware",
]

CONTENT_SECURITY_POLICY: Final = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

TAGS_OF_LANGUAGES = ("django.templatetags.i18n", "django.templatetags.l10n")


def templates(base: Path) -> list[dict[str, Any]]:
    """Return the settings of the template engine; ``base`` is the checkout."""
    return [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "DIRS": [base / "templates"],
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                    "django.template.context_processors.i18n",
                    "crewship_memory.middleware.actor.frame",
                ],
                "builtins": ["crewship_memory.templatetags.ui", *TAGS_OF_LANGUAGES],
            },
        }
    ]
