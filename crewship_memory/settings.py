"""Django settings; the only module that reads the environment.

Embedded (the default) and scale-out differ by two variables: DATABASE_URL, REDIS_URL.
"""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path
from typing import Any

import environ

from crewship_memory import applications, client_address, data_folder, logs
from crewship_memory.sqlite3 import options
from memory.installation import key_files
from memory.measurements import folder as measurements_folder

# What this process makes is for its own account alone, whatever started it.
os.umask(0o077)
BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.FileAwareEnv()
# Which variables the environment gives, by name; the page of settings says so.
FROM_ENVIRONMENT = frozenset(
    n for n in os.environ if n.startswith(("CREWSHIP_", "OLLAMA_"))
)


def _data_dir() -> Path:
    folder = Path(env.str("CREWSHIP_DATA_DIR", str(BASE_DIR / "data")))
    return data_folder.prepared(folder)


def _stored_secret(name: str, file: str) -> str:
    """Return a key from the environment or the data folder, empty when there is none.

    ``memory.installation.identity`` makes the missing ones, once it has read
    from the database that nothing depends on a key that was lost.
    """
    value = str(env.str(name, ""))
    if value:
        KEYS_FROM_ENVIRONMENT.add(file)
        return value
    path = DATA_DIR / "keys" / file
    try:
        return key_files.read(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it holds no key"
        raise data_folder.unusable(path, reason) from None


def _one_of(name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = env.str(name, default)
    if value not in allowed:
        message = f"{name} must be one of {', '.join(allowed)}; it is {value!r}."
        raise ValueError(message)
    return str(value)


# ── Data folder and keys ─────────────────────────────────────────────────────
DATA_DIR = _data_dir()
KEYS_FROM_ENVIRONMENT: set[str] = set()
SECRET_KEY = _stored_secret("CREWSHIP_SECRET_KEY", "secret.key")
# Django takes no empty one; this is never written down and ends with the process.
SECRET_KEY_IS_MADE_UP = not SECRET_KEY
SECRET_KEY = SECRET_KEY or secrets.token_urlsafe(48)
JOURNAL_KEY = _stored_secret("CREWSHIP_JOURNAL_KEY", "journal.key")
# Seals what has to be sent again and so cannot be kept as a digest.
GATEWAY_KEY = _stored_secret("CREWSHIP_GATEWAY_KEY", "gateway.key")
# Seals the bundles that are made for a person's request.
EXPORT_KEY = _stored_secret("CREWSHIP_EXPORT_KEY", "exports.key")
# Seals backups; never written down here, because it has to outlive this machine.
BACKUP_KEY = env.str("CREWSHIP_BACKUP_KEY", "")

# ── The web ──────────────────────────────────────────────────────────────────
DEBUG = env.bool("CREWSHIP_DEBUG", False)
ALLOWED_HOSTS: list[str] = env.list(
    "CREWSHIP_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"]
)
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CREWSHIP_TRUSTED_ORIGINS", default=[])
HTTPS = env.bool("CREWSHIP_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_NAME = "crewship_session"
CSRF_COOKIE_NAME = "crewship_csrf"
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
# Whose X-Forwarded-For and X-Forwarded-Proto are believed; nobody's unless named.
TRUSTED_PROXIES = client_address.parse_proxies(
    env.list("CREWSHIP_TRUSTED_PROXIES", default=[])
)
# Where a forwarded request from anybody else leaves a mark, for `doctor`.
UNKNOWN_PROXY_MARK = DATA_DIR / "unknown-proxy.seen"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# The most that any route takes; middleware/request_limits.py names each route's own.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000
DATA_UPLOAD_MAX_NUMBER_FILES = 4
ROOT_URLCONF = "crewship_memory.urls"
WSGI_APPLICATION = "crewship_memory.wsgi.application"
APPEND_SLASH = True

INSTALLED_APPS = applications.INSTALLED_APPS
MIDDLEWARE = applications.MIDDLEWARE
TEMPLATES = applications.templates(BASE_DIR)
CONTENT_SECURITY_POLICY = applications.CONTENT_SECURITY_POLICY

# ── Signing in ───────────────────────────────────────────────────────────────
AUTH_USER_MODEL = "memory.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": f"django.contrib.auth.password_validation.{name}",
    }
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "crewship_memory.auth.ClosedSignup"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "10/m/ip,5/5m/key",
    "reauthenticate": "10/m/user",
    "reset_password": "20/m/ip",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Crewship Memory"
# An unverified address is one that an admin invited; nobody can change theirs.
MFA_ALLOW_UNVERIFIED_EMAIL = True


def _mail() -> dict[str, Any]:
    """Return the mail settings; without a server each mail becomes a log line.

    Only a server will do: mails carry links that open accounts, and neither a console
    nor a log nor a file is the place for those.
    """
    url = env.str("CREWSHIP_EMAIL_URL", "")
    if not url:
        return {"EMAIL_BACKEND": "memory.accounts.mail.NoServer"}
    if not url.startswith("smtp"):
        message = "CREWSHIP_EMAIL_URL must name a mail server: smtp://, smtp+tls://, …"
        raise ValueError(message)
    return dict(env.email_url("CREWSHIP_EMAIL_URL"))


vars().update(_mail())
MAIL_SERVER = bool(env.str("CREWSHIP_EMAIL_URL", ""))
# A server that does not answer must not keep a request.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("CREWSHIP_EMAIL_FROM", "crewship@localhost")


# ── The database ─────────────────────────────────────────────────────────────
POSTGRESQL = "django.db.backends.postgresql"
# How long the pool goes on trying before it waits for the next request: its pauses
# double, so that they would outlast an outage.
RECONNECT_SECONDS = 1.0
# A server whose machine is gone says no farewell: that would take a quarter of an hour.
TIMEOUTS: dict[str, Any] = {
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}


def _database() -> dict[str, Any]:
    config = env.db("DATABASE_URL", f"sqlite:///{DATA_DIR / 'crewship.sqlite3'}")
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["ENGINE"] = "crewship_memory.sqlite3"
        config["OPTIONS"] = options.OPTIONS
        config["CONN_MAX_AGE"] = None
    else:
        # A request waits for a connection that long, and no longer.
        pool = {"min_size": 2, "max_size": 16, "timeout": 10.0}
        if config["ENGINE"] == POSTGRESQL:
            config["ENGINE"] = "crewship_memory.postgresql"
            pool["reconnect_timeout"] = RECONNECT_SECONDS
        # What the address says itself holds, such as ?sslmode=verify-full.
        config["OPTIONS"] = {**TIMEOUTS, **config.get("OPTIONS", {}), "pool": pool}
    config["ATOMIC_REQUESTS"] = False
    return dict(config)


def _replica() -> dict[str, Any]:
    """Return the database that recall reads where it can, of the primary's kind."""
    config = env.db("CREWSHIP_REPLICA_URL")
    is_postgres = DATABASES["default"]["ENGINE"] == "crewship_memory.postgresql"
    if config["ENGINE"] != POSTGRESQL or not is_postgres:
        message = "CREWSHIP_REPLICA_URL must name a replica of the PostgreSQL database."
        raise ValueError(message)
    # A replica that is away costs a question little: the primary is there.
    pool = {"min_size": 1, "max_size": 16, "timeout": 1.0}
    # By itself the pool would try less and less often, and miss that it is back.
    pool |= {"reconnect_timeout": 1.0}
    options = {**TIMEOUTS, "connect_timeout": 1, "tcp_user_timeout": 3_000}
    options |= {**config.get("OPTIONS", {}), "pool": pool}
    # Connections that broke while it was away are made again before they are used.
    config |= {"CONN_HEALTH_CHECKS": True, "OPTIONS": options}
    return dict(config) | {"TEST": {"MIRROR": "default"}}


DATABASES = {"default": _database()}
if env.str("CREWSHIP_REPLICA_URL", ""):
    DATABASES["replica"] = _replica()
# Where the bytes of memory files, bundles and keys are; see memory/stored_files/.
BODIES = _one_of(
    "CREWSHIP_BODIES",
    "folder" if DATABASES["default"]["ENGINE"].endswith("sqlite3") else "database",
    ("folder", "database"),
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MIGRATION_MODULES: dict[str, str] = {}

# ── Background work, cache ───────────────────────────────────────────────────
REDIS_URL = env.str("REDIS_URL", "")
CELERY_BROKER_URL = REDIS_URL or "memory://"
# A broker that is away costs a request one short attempt, see memory/jobs/dispatch.py.
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"max_retries": 0, "socket_connect_timeout": 1.0, "socket_timeout": 5.0}
    if REDIS_URL
    else {"polling_interval": 0.05}
)
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CACHES = {
    "default": (
        {"BACKEND": "crewship_memory.shared_cache.SharedCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        else {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "OPTIONS": {"MAX_ENTRIES": 10_000},
        }
    )
}

# ── Embedding and recall ─────────────────────────────────────────────────────
EMBEDDER = _one_of("CREWSHIP_EMBEDDER", "local", ("local", "ollama", "none", "hashing"))
LOCAL_MODEL = env.str("CREWSHIP_LOCAL_MODEL", "minilm")
# Half the cores, so that a backlog of embeddings leaves room for requests.
EMBED_THREADS = env.int("CREWSHIP_EMBED_THREADS", max(1, (os.cpu_count() or 2) // 2))
OLLAMA_HOST = env.str("OLLAMA_HOST", "").strip() or "http://127.0.0.1:11434"
OLLAMA_MODEL = env.str("OLLAMA_MODEL", "nomic-embed-text")
OLLAMA_TIMEOUT = env.float("OLLAMA_TIMEOUT", 15.0)
# A chat model that draws rules from the journal; without one it is done by likeness.
CONSOLIDATE_MODEL = env.str("CREWSHIP_CONSOLIDATE_MODEL", "")
CONSOLIDATE_TIMEOUT = env.float("CREWSHIP_CONSOLIDATE_TIMEOUT", 120.0)
QUERY_CACHE = env.int("CREWSHIP_QUERY_CACHE", 2048)
# The word indexes of all workspaces in one process; the least recently asked go first.
WORD_INDEX_MB = env.int("CREWSHIP_WORD_INDEX_MB", 512)
VECTOR_MEMORY_MB = env.int("CREWSHIP_VECTOR_MEMORY_MB", 1024)
RATE_LIMIT = env.str("CREWSHIP_RATE_LIMIT", "6000/m")
ANONYMOUS_RATE_LIMIT = env.str("CREWSHIP_ANONYMOUS_RATE_LIMIT", "600/m")
WEBHOOK_PRIVATE = env.bool("CREWSHIP_WEBHOOK_PRIVATE", False)
RAW_CONTENT = env.str("CREWSHIP_RAW_CONTENT", "allow")
# Whether a memory gateway that an admin names may lie in a private network.
GATEWAY_PRIVATE = env.bool("CREWSHIP_GATEWAY_PRIVATE", False)
# Whether the remote provider that an admin names may lie in a private network.
PROVIDER_PRIVATE = env.bool("CREWSHIP_PROVIDER_PRIVATE", False)

# ── Words, files, logs ───────────────────────────────────────────────────────
# What a person who chose nothing, and whose browser asks for neither, reads.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o600, 0o700
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
LOG_LEVEL = env.str("CREWSHIP_LOG_LEVEL", "INFO")
LOG_FORMAT = _one_of("CREWSHIP_LOG_FORMAT", "console", ("console", "json"))
LOGGING = logs.configured(LOG_FORMAT, LOG_LEVEL)
# No access log: a request leaves a line when it fails. DEBUG shows every one.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_STATUS_2XX_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_STATUS_DEFAULT_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = logging.INFO
# The request's id travels with the message of a task. As with requests, only a task
# that fails leaves a line.
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_CELERY_DEFAULT_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_CELERY_TASK_RETRY_LOG_LEVEL = logging.DEBUG
# An address is personal data, and behind a proxy it is the proxy's.
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False

# ── Seen from outside ────────────────────────────────────────────────────────
# Where the processes of this machine add up what they count, see memory/measurements.
METRICS_DIR = measurements_folder.prepared(
    Path(env.str("CREWSHIP_METRICS_DIR", "") or measurements_folder.default(DATA_DIR)),
    DATA_DIR,
)
# Prometheus's client takes it from there, when it is imported.
if METRICS_DIR is None:
    os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
else:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)
# Where a worker and the clock answer scrapes: they have no web server. 0: nowhere.
METRICS_PORT = env.int("CREWSHIP_METRICS_PORT", 0)
METRICS_HOST = env.str("CREWSHIP_METRICS_HOST", "127.0.0.1")
# Where traces go is said by the variables of OpenTelemetry (OTEL_…), which it reads.
TRACES = env.bool("CREWSHIP_TRACES", False)

# ── Commands ─────────────────────────────────────────────────────────────────
# Where people reach this installation; login links on the command line start with it.
PUBLIC_URL = env.str("CREWSHIP_URL", "").rstrip("/")
ADMIN_EMAIL = env.str("CREWSHIP_ADMIN_EMAIL", "admin@localhost")
# Source maps are megabytes that only a developer's browser asks for: compressing them
# would be most of what the first start does.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (
    *("jpg", "jpeg", "png", "gif", "webp", "avif", "woff", "woff2"),
    *("zip", "gz", "tgz", "br", "map"),
)
# Probes come without TLS, from inside.
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^metrics$"]
