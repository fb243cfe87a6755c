"""The data that crosses the pipes between the two sides: its format, and how it is read."""
