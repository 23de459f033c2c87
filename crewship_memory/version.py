"""The version of the product: this line, and no other, says which it is.

A release changes it together with CHANGELOG.md. Semantic versioning: what outside
programs are written against (paths, fields, codes, commands, settings) makes it major.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
