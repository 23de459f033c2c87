"""Usage: python check_certificate.py CERTIFICATE KEYS [CODE KIND VALUE]."""

import base64
import hashlib
import hmac
import json
import sys
import unicodedata
from pathlib import Path

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# KEYS: what GET /api/v1/gdpr/keys of the issuer answers.
document, keys = (json.loads(Path(name).read_bytes()) for name in sys.argv[1:3])
content, signed = document["content"], base64.b64decode(document["signature"]["value"])
[public] = [k["public_key"] for k in keys["keys"] if k["key_id"] == content["key_id"]]
key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public))
key.verify(signed, rfc8785.dumps(content))  # raises InvalidSignature
print("The signature holds.", content["statement"])
if len(sys.argv) == 6:
    code, kind, text = bytes.fromhex(sys.argv[3]), sys.argv[4], sys.argv[5]
    plain = unicodedata.normalize("NFC", text.strip()).casefold()
    digest = hmac.digest(code, f"{kind}\0{plain}".encode(), "sha256").hex()
    sought = content["identifiers"]
    if hashlib.sha256(code).hexdigest() != sought["check_code_sha256"]:
        sys.exit("The check code is not this certificate's.")
    places = [line["sought_in"] for line in sought["list"] if line["digest"] == digest]
    print("It was sought in", *places[0]) if places else sys.exit("It is not listed.")
