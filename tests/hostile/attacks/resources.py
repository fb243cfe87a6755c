"""Taking more than one's share: processes, time, memory, output, disk, descriptors."""

from __future__ import annotations

from tests.hostile.attack import Attack, called, one

BUSY = "    while True:\n        pass\n"

PROCESSES = (
    one(
        "fork bomb",
        "def fork():\n    if os.fork() == 0:\n        while True:\n            signal.pause()\n"
        "if until_refused(fork, 500) >= LIMIT: reached.append('forks')",
    ),
    one(
        "fork bomb of forks",
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        "cell-time",
    ),
    one(
        "thread bomb",
        "def start(): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "if until_refused(start, 2000) >= LIMIT: reached.append('threads')",
    ),
    one(
        "many busy processes",
        f"for _ in range(8):\n    if os.fork() == 0:\n        while True: pass\nwhile True:\n{BUSY[4:]}",
        "cell-time",
    ),
    called(
        "fork bomb in a call",
        "def attack():\n    until_refused(os.fork, 500)\n    time.sleep(60)",
        "call-time",
    ),
)

TIME = (
    one(
        "endless loop that ignores every signal",
        "for number in range(1, 65):\n    attempt('', lambda: signal.signal(number, signal.SIG_IGN))\n"
        "while True: pass",
        "cell-time",
    ),
    one("a process that stops itself", "os.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass", "cell-time"),
    one("C code that keeps the interpreter's lock", "ctypes.PyDLL(None).sleep(1000)", "cell-time"),
    one("sleeping past the end", "time.sleep(1000)", "cell-time"),
    one("waiting for input", "input('password? ')", "StdinNotImplementedError", "EOFError"),
    one("a pattern that backtracks for ever", "import re\nre.match('(a+)+$', 'a' * 64 + 'b')", "cell-time"),
    one("a power tower", "x = 9 ** 9 ** 9", "cell-time", "memory", "MemoryError"),
    one("a conversion of a huge integer", "print(10 ** 10_000_000)", "ValueError", "cell-time"),
    one("endless recursion", "def f(): return f()\nf()", "RecursionError"),
    one(
        "recursion past Python's own limit",
        "sys.setrecursionlimit(10**9)\ndef f(n): return f([n])\nf(0)",
        "crashed",
        "memory",
        "MemoryError",
        "cell-time",
    ),
    one(
        "an expression deeper than the parser",
        "eval('(' * 100_000 + ')' * 100_000)",
        "SyntaxError",
        "MemoryError",
    ),
    one(
        "an interrupt sent to oneself",
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1)",
        "KeyboardInterrupt",
    ),
    called("endless loop only in the call", f"def attack():\n{BUSY}", "call-time"),
    called(
        "endless loop that swallows interrupts",
        "def attack():\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        "call-time",
    ),
    called(
        "an alarm that fires in the grader's code",
        "def attack():\n    signal.signal(signal.SIGALRM, lambda *_: 1 / 0)\n    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "    time.sleep(0.1)",
        "ZeroDivisionError",
        "exited",
        "crashed",
    ),
)

MEMORY = (
    one(
        "a growing list",
        "x = []\nwhile True: x.append(bytearray(b'x') * (32 << 20))",
        "memory",
        "MemoryError",
    ),
    one(
        "a shared mapping",
        "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1",
        "memory",
        "OSError",
        "MemoryError",
    ),
    one("an anonymous file", "attempt('memfd', lambda: os.memfd_create('x'))"),
    one(
        "many processes, each below the limit",
        "for _ in range(12):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (100 << 20)\n        time.sleep(60)\n"
        "end = time.monotonic() + 1\nwhile time.monotonic() < end: time.sleep(0.01)",
        "",
        "memory",
    ),
    one(
        "pipes and sockets filled to the brim",
        "kept = []\ndef fill():\n    a, b = socket.socketpair()\n    a.setblocking(False)\n    kept.append((a, b))\n"
        "    try:\n        while True: a.send(bytes(65536))\n    except BlockingIOError: pass\n"
        "if until_refused(fill, 500) >= 64: reached.append('sockets')",
    ),
    one(
        "a bomb of compressed bytes",
        "import zlib\nb = zlib.compress(bytes(200 << 20))\nx = [zlib.decompress(b) for _ in range(9)]",
        "memory",
        "MemoryError",
    ),
    one("a tensor of 8 GB", "import torch\ntorch.ones(2_000_000_000)", "memory", "RuntimeError", torch=True),
    called(
        "memory only in the call",
        "def attack():\n    return bytearray(b'x') * (1 << 30)",
        "memory",
        "MemoryError",
    ),
)

OUTPUT = (
    one("a flood of prints", "while True: print('x' * 100_000)", "output"),
    one("20 MB to standard error", "sys.stderr.write('x' * (20 << 20))", "output"),
    one("200 MB in small pieces", "for _ in range(200): os.write(2, bytes(1 << 20))", "output"),
    one(
        "a flood from another process",
        "if os.fork() == 0:\n    while True: os.write(1, bytes(65536))\ntime.sleep(60)",
        "output",
    ),
    one(
        "a representation without end",
        "class Long:\n    def __repr__(self): return 'x' * (50 << 20)\nLong()",
        "output",
    ),
    one("an exception with a text without end", "raise ValueError('x' * (50 << 20))", "output", "ValueError"),
    one(
        "a million outputs",
        "from IPython.display import display\nfor _ in range(20_000): display(1)",
        "",
        "output",
        "cell-time",
    ),
    one("a terminal's control sequences", "print('\\033]0;owned\\007\\033[2J\\033[31m')"),
    called("a flood in the call", "def attack():\n    while True: print('x' * 100_000)", "output"),
    called("a text of 20 MB as the answer", "def attack():\n    return 'x' * (20 << 20)", "reply-size"),
    called("an answer of a million parts", "def attack():\n    return [0] * 1_000_000", "ProtocolError"),
    called(
        "an exception's text of 50 MB", "def attack():\n    raise ValueError('x' * (50 << 20))", "ValueError"
    ),
)

DISK = (
    one(
        "filling the disk",
        "def write():\n    with open('/w/full', 'ab') as file: file.write(bytes(1 << 20))\n"
        "if until_refused(write, 64) > SCRATCH: reached.append('disk')",
    ),
    one(
        "filling every writable place",
        "def write():\n    for place in ('/w', '/tmp', '/dev/shm'):\n"
        "        with open(place + '/full', 'ab') as file: file.write(bytes(1 << 20))\n"
        "if until_refused(write, 64) * 3 > SCRATCH: reached.append('disk')",
    ),
    one(
        "a sparse file larger than all",
        "f = open('/w/sparse', 'wb')\nattempt('truncate', lambda: f.truncate(1 << 40))",
    ),
    one(
        "using up inodes",
        "def make(): open(f'/w/{os.urandom(8).hex()}', 'x').close()\n"
        "if until_refused(make, 5000) > 256: reached.append('inodes')",
    ),
    one(
        "a folder nested without end",
        "def deeper():\n    os.mkdir('d'); os.chdir('d')\nuntil_refused(deeper, 5000)",
    ),
    one(
        "using up descriptors",
        "if until_refused(lambda: os.open('/dev/null', 0), 5000) > 64: reached.append('descriptors')",
    ),
    one(
        "raising one's own limits",
        "import resource\nfor what in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):\n"
        "    attempt(what, lambda: resource.setrlimit(what, (1 << 20, 1 << 20)))",
    ),
)

RESOURCES: tuple[Attack, ...] = (*PROCESSES, *TIME, *MEMORY, *OUTPUT, *DISK)
