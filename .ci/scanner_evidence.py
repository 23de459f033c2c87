"""What a copy of the scanner finds: JSON lines of texts in, JSON lines of findings out.

A program of its own, so that the copy on its path is the scanner that it imports.
"""

from __future__ import annotations

import json
import sys

from memory.scanner import scan


def main() -> None:
    """Answer each line with the verdict and what was found where."""
    for line in sys.stdin:
        verdict = scan(json.loads(line)["text"], tier="AGENT")
        findings = [
            [item.rule, item.weight, item.start, item.end, item.decoded is not None]
            for item in verdict.findings
        ]
        sys.stdout.write(json.dumps([verdict.is_held, findings]) + "\n")


if __name__ == "__main__":
    main()
