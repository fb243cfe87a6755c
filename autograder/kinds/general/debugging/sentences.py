"""What is said of faults. No sentence says where a fault stands."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "debugging.repaired": "This fault is repaired.",
    "debugging.left": "The code still does what it does with this fault.",
    "debugging.defect": "The code does something that none of the faults explains: there is a new one.",
}
