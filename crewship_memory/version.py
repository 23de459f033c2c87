"""The version of the product: this line, and no other, says which it is.

A release changes it together with CHANGELOG.md.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
