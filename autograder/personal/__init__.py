"""Personal variants made and handed out: drawn, filled in, built into releases, and recorded."""
