"""Workspaces, crews, agents, people, and API keys."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy

from memory.models import ids
from memory.rules.permissions import PERSON_ROLES, AgentRole, Role

SLUG = RegexValidator(
    r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\Z",
    gettext_lazy("Use lower-case letters, digits and dashes, 64 at most."),
)


class UserManager(BaseUserManager["User"]):
    """People sign in with their e-mail; there is no user name."""

    def create_user(
        self, email: str, password: str | None = None, **extra: Any
    ) -> User:
        """Create a person; without a password only a login link signs in."""
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(
        self, email: str, password: str | None = None, **extra: Any
    ) -> User:
        """Create a person who may use the Django admin."""
        flags = {"is_staff": True, "is_superuser": True}
        return self.create_user(email, password, **flags, **extra)


class User(AbstractUser):
    """A person: operator, compliance officer, admin or viewer, per workspace."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.user)
    username = None  # type: ignore[assignment]  # signing in is by e-mail alone
    first_name = None  # type: ignore[assignment]  # one name is enough
    last_name = None  # type: ignore[assignment]
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    # The language of pages and mails; empty: that of the browser, and English in mails.
    language = models.CharField(max_length=8, blank=True)
    # Incremented to end every session and every link of the account.
    session_generation = models.PositiveIntegerField(default=0)

    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        db_table = "users"
        ordering = ("email",)

    def __str__(self) -> str:
        return self.name or self.email

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return str(self)

    def get_session_auth_hash(self) -> str:
        """Return the hash a session must carry; it also changes with the generation."""
        value = f"{super().get_session_auth_hash()}{self.session_generation}"
        salt = "memory.models.User.session"
        return salted_hmac(salt, value, algorithm="sha256").hexdigest()


class Workspace(models.Model):
    """A tenant. ``number`` keeps the row numbers of its search index together."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.workspace)
    number = models.PositiveIntegerField(unique=True)
    slug = models.CharField(max_length=64, unique=True, validators=[SLUG])
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "workspaces"
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug


class Crew(models.Model):
    """Agents that share a memory."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.crew)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="crews")
    slug = models.CharField(max_length=64, validators=[SLUG])
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "crews"
        ordering = ("slug",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "slug"], name="crew_slug_unique"
            ),
        )

    def __str__(self) -> str:
        return self.slug


class Agent(models.Model):
    """An AI agent. ``memory_walk_depth`` 1 adds neighbours to recall."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.agent)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="agents")
    crew = models.ForeignKey(Crew, models.CASCADE, related_name="agents")
    slug = models.CharField(max_length=64, validators=[SLUG])
    name = models.CharField(max_length=120)
    role = models.CharField(
        max_length=8,
        choices=[(r.value, r.value) for r in AgentRole],
        default=AgentRole.AGENT.value,
    )
    memory_walk_depth = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "agents"
        ordering = ("slug",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "crew", "slug"], name="agent_slug_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(memory_walk_depth__in=(0, 1)),
                name="agent_walk_depth_0_or_1",
            ),
        )

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """The role of a person in one workspace."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.membership)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(
        max_length=12, choices=[(r.value, r.value) for r in PERSON_ROLES]
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "memberships"
        ordering = ("created_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "user"], name="one_membership_per_workspace"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} · {self.role}"


class Key(models.Model):
    """A bearer key: only its SHA-256 digest is stored, the key is shown once."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.key)
    name = models.CharField(max_length=120)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=254)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.prefix}…"

    @property
    def state(self) -> str:
        """Active, expired or revoked, as a word."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= timezone.now():
            return "expired"
        return "active"


class AgentKey(Key):
    """Authenticates as one agent; the crew comes from the agent."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="agent_keys")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="keys")
    # The one end user to whose memories it gives access; empty for every other key.
    end_user = models.CharField(max_length=256, blank=True)

    class Meta:
        db_table = "agent_keys"
        ordering = ("-created_at",)

    @property
    def holder(self) -> str:
        """The name of the agent or person of the key."""
        return self.agent.slug


class OperatorKey(Key):
    """Authenticates as a person, with a role of its own."""

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="operator_keys"
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="keys")
    role = models.CharField(
        max_length=12,
        choices=[(r.value, r.value) for r in PERSON_ROLES],
        default=Role.OPERATOR.value,
    )

    class Meta:
        db_table = "operator_keys"
        ordering = ("-created_at",)

    @property
    def holder(self) -> str:
        """The name of the agent or person of the key."""
        return str(self.user)
