"""Numbers with units: read as people write them, and compared within a tolerance."""
