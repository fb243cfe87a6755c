"""Commands that tests start make courses with the same secret every time: Python runs this as it starts.

Nothing else is the same every time: entries of the log are told apart by what is drawn for them.
"""

import secrets

_drawn = secrets.token_bytes
secrets.token_bytes = lambda count=32: bytes(range(count)) if count == 32 else _drawn(count)
