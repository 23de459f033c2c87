"""Certificates over the API: read those of a workspace, verify any, list the keys."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from gdpr.api import case_schemas as schemas
from gdpr.cases import transitions
from gdpr.certificates import issue as certificates
from gdpr.certificates import keys as signing_keys
from gdpr.certificates.document import ALGORITHM, Verdict
from gdpr.models import Certificate, SigningKey
from gdpr.pagination import Page
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp
from memory.rules.shapes import Strict

router = Router(tags=["personal data"])


class CertificateSignatureOut(Schema):
    """The signature: Ed25519 over the content in the form of RFC 8785."""

    algorithm: str
    canonical: str
    key_id: str
    public_key: str
    value: str


class CertificateOut(Schema):
    """A signed certificate; what is signed is ``content``."""

    content: dict[str, Any]
    signature: CertificateSignatureOut


class CertificateLineOut(Schema):
    """A certificate as a line of the list."""

    id: str
    case_id: str
    kind: str = Field(validation_alias="case.kind")
    result: str
    run: int
    key_id: str
    replaces: str | None = Field(validation_alias="replaces_id")
    issued_at: Stamp


class CertificatesOut(Schema):
    """The workspace's certificates, the newest first."""

    items: list[CertificateLineOut]
    next_cursor: str | None


class VerdictQuery(Strict):
    """What the certificate should be about, if the caller knows."""

    case_id: str = Field("", max_length=64)
    workspace_id: str = Field("", max_length=64)


class VerdictOut(Schema):
    """Whether a certificate is valid; ``reasons`` are what makes it invalid."""

    valid: bool
    intact: bool
    key_id: str | None
    reasons: list[str]
    explanations: list[str] = Field(validation_alias="sentences")


class PublicKeyOut(Schema):
    """The public key of a signing key, present or retired."""

    key_id: str
    algorithm: str
    public_key: str
    made_at: Stamp
    retired_at: Stamp | None

    @staticmethod
    def resolve_algorithm(_row: SigningKey) -> str:
        return ALGORITHM


class PublicKeysOut(Schema):
    """Every key of this installation, the newest first."""

    keys: list[PublicKeyOut]


def document(certificate: Certificate) -> HttpResponse:
    """Return a certificate byte for byte, as it was signed."""
    answer = HttpResponse(certificate.document, content_type="application/json")
    answer["Content-Disposition"] = f'inline; filename="{certificate.pk}.json"'
    return answer


@router.get(
    "/cases/{case_id}/certificate",
    response=CertificateOut,
    operation_id="get_certificate",
)
def of_case(request: ApiRequest, case_id: str) -> HttpResponse:
    """Get a case's newest certificate, byte for byte. 404 `no_certificate` before."""
    case = transitions.case(request.auth, case_id)
    return document(certificates.of_case(request.auth, case))


@router.get("/certificates", response=CertificatesOut, operation_id="list_certificates")
def list_certificates(
    request: ApiRequest, query: Query[schemas.PrivacyPageQuery]
) -> Page[Certificate]:
    """List the workspace's certificates, the newest first."""
    return certificates.page(request.auth, query.page())


# Must come before the route with a parameter in the same place.
@router.post(
    "/certificates/verify",
    response=VerdictOut,
    operation_id="verify_certificate",
    auth=None,
)
def verify(request: HttpRequest, query: Query[VerdictQuery]) -> Verdict:
    """Check a certificate, without a login. The body is the certificate, as it is.

    Any body gets a verdict; one that cannot be read is `malformed`. Other reasons:
    `tampered`, `unknown_key`, `wrong_key`, `wrong_case`, `wrong_workspace`,
    `not_recorded`, `not_as_recorded`, `replaced`, `future_version`.
    """
    return certificates.verify(
        request.body, case_id=query.case_id, workspace=query.workspace_id
    )


@router.get(
    "/certificates/{certificate_id}",
    response=CertificateOut,
    operation_id="read_certificate",
)
def read(request: ApiRequest, certificate_id: str) -> HttpResponse:
    """Get a certificate, byte for byte; also one that was replaced."""
    return document(certificates.get(request.auth, certificate_id))


@router.get(
    "/keys",
    response=PublicKeysOut,
    operation_id="public_keys",
    url_name="public_keys",
    auth=None,
)
def keys(request: HttpRequest) -> dict[str, Any]:  # noqa: ARG001
    """Get the public keys that certificates are checked with, without a login."""
    return {"keys": signing_keys.published()}
