"""Set the same secret for courses in commands started by tests: Python runs this file at startup.

Other random values remain, because log entries are distinguished by them.
"""

import secrets

_drawn = secrets.token_bytes
secrets.token_bytes = lambda count=32: bytes(range(count)) if count == 32 else _drawn(count)
