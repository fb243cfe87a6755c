"""Numbers with units: parsed as people write them, and compared within a tolerance."""
