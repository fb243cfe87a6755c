"""Commands that tests start make courses with the same secret every time: Python runs this as it starts."""

import secrets

secrets.token_bytes = lambda count=32: bytes(range(count))
