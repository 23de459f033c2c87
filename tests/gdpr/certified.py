"""Certificates of a complete erasure, and what can be done to one."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
)

from gdpr.cases import leases
from gdpr.certificates import document as certificate_document
from gdpr.certificates import issue as certificates
from gdpr.certificates import keys as signing_keys
from gdpr.models import Certificate
from tests.gdpr import requests as make
from tests.gdpr.requests import RUNNER
from tests.world import World


def issued(world: World, **fields: Any) -> Certificate:
    """Return the certificate of a complete erasure."""
    case = make.running(world, **fields)
    make.searched(case, make.system_actor(world))
    certificate = certificates.issue(case, make.facts())
    leases.close(case, RUNNER, "complete", {}, by=make.system_actor(world))
    return certificate


def reasons(document: Any, **options: Any) -> list[str]:
    """Return a document's reasons for rejection."""
    verdict = certificates.verify(document, **options)
    assert verdict.valid is (not verdict.reasons)
    return verdict.reasons


def altered(certificate: Certificate, **fields: Any) -> str:
    """Return a certificate with other content and the old signature."""
    document = json.loads(certificate.document)
    document["content"].update(fields)
    return json.dumps(document)


def signed(content: dict[str, Any], private: Ed25519PrivateKey | None = None) -> str:
    """Return content signed with the installation's key, or another one."""
    return certificate_document.sign(content, private or signing_keys.current()[1])


def content_of(certificate: Certificate) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(certificate.document)["content"]
    return parsed
