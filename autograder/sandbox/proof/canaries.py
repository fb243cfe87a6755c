"""Everything student code must not do, as code that tries it: the self-test's table.

Each canary runs in its own box. It must return None, or be ended by one of the endings it names; any other
return value is what it reached. A test breaks each layer in turn and checks that its canary notices.
"""

from __future__ import annotations

from msgspec import Struct

from autograder.core.limits import KERNEL_CPU_FACTOR
from autograder.core.records import Ending, Limits

CONFINED = ("namespaces",)
ALWAYS = ("namespaces", "none")

LIMITS = Limits(
    processes=24, scratch_mb=16, scratch_files=256, memory_mb=96, output_kb=64, descriptors=64, reply_mb=8
)
"""Small, so that reaching each of them takes milliseconds."""


class Canary(Struct, frozen=True):
    """One attempt. ``code`` defines ``canary()``; the names of `build_settings` are defined before it."""

    name: str
    promise: str
    """The statement that holds if nothing was reached."""
    levels: tuple[str, ...]
    """The isolation levels that guarantee it."""
    code: str
    ends: tuple[Ending, ...] = ()
    """Endings of the box that show the layer at work."""
    neighbour: str = ""
    """Code that runs in another box of the same zygote, which stays open in the meantime."""
    own_users: bool = False
    """Whether it is only guaranteed if each box has its own user, that is, if the grader is root."""
    seconds: float = 20.0
    """The deadline of the call."""


def build_settings(port: int, socket_name: str, landlock: int) -> str:
    """Build the source code with the names that canaries use: our listeners, and the limits of a box.

    Args:
        port: of a listener on this side.
        socket_name: of an abstract socket on this side.
        landlock: the kernel's version of it, 0 for none.
    """
    return (
        f"PORT, SOCKET, LANDLOCK = {port}, {socket_name!r}, {landlock}\n"
        f"PROCESSES, DESCRIPTORS = {LIMITS.processes}, {LIMITS.descriptors}\n"
        f"SCRATCH, MEMORY, OUTPUT = {LIMITS.scratch_mb << 20}, {LIMITS.memory_mb << 20}, "
        f"{LIMITS.output_kb << 10}\n"
        f"FILES, PROCESSOR = {LIMITS.scratch_files}, {KERNEL_CPU_FACTOR * LIMITS.processor_seconds}\n"
    )


CANARIES: tuple[Canary, ...] = (
    Canary(
        "private file system",
        "the root holds only what a notebook needs; no home, no /etc/shadow, no device but five",
        CONFINED,
        """
def canary():
    import os
    seen = [p for p in ('/etc/shadow', '/var', '/boot', '/run', '/sys/kernel') if os.path.exists(p)]
    for folder, allowed in (('/dev', 'null zero full random urandom shm'), ('/etc', 'passwd ld.so.cache')):
        seen += [f'{folder}/{name}' for name in os.listdir(folder) if name not in allowed.split()]
    return seen[:10] or None
""",
    ),
    Canary(
        "no process file system",
        "/proc tells nothing but the kind of processor",
        CONFINED,
        """
def canary():
    import os
    return sorted(set(os.listdir('/proc')) - {'cpuinfo'})[:5] or None
""",
    ),
    Canary(
        "read-only mounts",
        "nothing outside the scratch space can be written",
        CONFINED,
        """
def canary():
    import os, sysconfig
    hit = []
    places = ['/', '/usr/lib', '/data', '/etc', '/dev', *map(sysconfig.get_path, ('purelib', 'stdlib'))]
    for p in places:
        try:
            open(os.path.join(p, 'canary'), 'w').close(); hit.append(p)
            os.unlink(os.path.join(p, 'canary'))
        except OSError: pass
        if os.path.exists(p) and not os.statvfs(p).f_flag & os.ST_RDONLY: hit.append(p + ' is not read-only')
    return hit or None
""",
    ),
    Canary(
        "Landlock in the box",
        "files are used as Landlock allows, where the kernel has version 5 of it or later",
        CONFINED,
        # Mounts keep a box from everything else that Landlock forbids, so only one thing shows whether a box
        # loads it: since version 5 it refuses commands to a device before the device can.
        """
def canary():
    import errno, fcntl, os
    if LANDLOCK < 5: return None
    device = os.open('/dev/null', os.O_RDONLY)
    try: fcntl.ioctl(device, 0x5401)  # TCGETS, which the filter allows
    except OSError as error:
        if error.errno == errno.EACCES: return None
        return f'a command to a device fails with {errno.errorcode[error.errno]}'
    finally: os.close(device)
    return 'a command to a device'
""",
    ),
    Canary(
        "own process namespace",
        "no process outside can be seen or signalled",
        CONFINED,
        """
def canary():
    import os
    hit = []
    for pid in range(2, 300):
        try: os.kill(pid, 0); hit.append(pid)
        except OSError: pass
    return hit or (None if os.getpid() == 1 and os.getppid() == 0 else [os.getpid()])
""",
    ),
    Canary(
        "no network",
        "no socket of a network can be made, and no address can be reached",
        CONFINED,
        """
def canary():
    import socket
    hit = []
    for family in (socket.AF_INET, socket.AF_INET6, 16, 40):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            try: socket.socket(family, kind).close(); hit.append([int(family), int(kind)])
            except OSError: pass
    try:
        socket.create_connection(('127.0.0.1', PORT), timeout=1); hit.append('connected')
    except OSError: pass
    return hit or None
""",
    ),
    Canary(
        "no socket of the machine",
        "the network namespace is the box's own: names outside cannot be called",
        CONFINED,
        """
def canary():
    import socket
    with socket.socket(socket.AF_UNIX) as caller:
        try: caller.connect('\\0' + SOCKET)
        except OSError: return None
    return 'connected'
""",
    ),
    Canary(
        "no privileges",
        "no user id, capability or namespace can be gained",
        CONFINED,
        """
def canary():
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    hit = []
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0 or any(sets): hit.append(f'capabilities {list(sets)}')
    if any(libc.prctl(23, ctypes.c_ulong(number), 0, 0, 0) == 1 for number in range(64)):
        hit.append('bounding set')
    # noroot, no_setuid_fixup and keep_caps, each locked; see linux.SECUREBITS.
    if libc.prctl(27, 0, 0, 0, 0) != 0x2F: hit.append('securebits are not locked')
    if libc.prctl(39, 0, 0, 0, 0) != 1: hit.append('new privileges')
    if libc.unshare(0x10000000) == 0: hit.append('unshare')
    if libc.mount(b'none', b'/w', b'tmpfs', 0, None) == 0: hit.append('mount')
    try: os.setuid(0); hit.append('setuid')
    except OSError: pass
    return hit or (None if os.getuid() != 0 else ['uid 0'])
""",
    ),
    Canary(
        "system call filter",
        "programs cannot be started and other processes cannot be traced",
        CONFINED,
        """
def canary():
    import ctypes, errno, os, sys
    hit = []
    libc = ctypes.CDLL(None, use_errno=True)
    def refused(name, *arguments):
        if getattr(libc, name)(*arguments) >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
            hit.append(name)
    refused('ptrace', 0, 0, 0, 0)
    refused('memfd_create', b'x', 0)
    refused('inotify_init')
    refused('setsid')
    refused('personality', 0)
    try: os.execv(sys.executable, ['x', '-c', 'pass'])
    except PermissionError: pass
    except OSError: hit.append('execve is refused for another reason')
    return hit or None
""",
    ),
    Canary(
        "kernel subsystems",
        "no call reaches bpf, io_uring, keys, userfaultfd or perf events",
        CONFINED,
        """
def canary():
    import ctypes, errno, os
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    # By machine: x86-64, and ARM64. The arguments are wrong in a way that the kernel finds before it asks
    # for rights, so that its own refusal is another than the filter's.
    calls = {
        'bpf': (321, 280, 0, 0, 1 << 20),
        'io_uring_setup': (425, 425, 0, 0),
        'io_uring_enter': (426, 426, -1, 0, 0, 0, 0, 0),
        'io_uring_register': (427, 427, -1, 0, 0, 0),
        'add_key': (248, 217, 0, 0, 0, 0, 0),
        'request_key': (249, 218, 0, 0, 0, 0),
        'keyctl': (250, 219, 9999, 0, 0, 0, 0),
        'userfaultfd': (323, 282, 0x40000001),
        'perf_event_open': (298, 241, 0, 0, -1, -1, -1),
    }
    hit = []
    for name, (x86, arm, *arguments) in calls.items():
        number = arm if os.uname().machine == 'aarch64' else x86
        result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
        if result >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS): hit.append(name)
    return hit or None
""",
    ),
    Canary(
        "no reference",
        "where right solutions are importable in the reference's box, a student's has nothing",
        CONFINED,
        """
def canary():
    import importlib.util, os, sys
    hit = [path for path in ('.packages.zip', *sys.path) if path.endswith('.zip') and os.path.isfile(path)]
    found = importlib.util.find_spec('reference')
    if found is not None and (found.origin or hit): hit.append('import reference')
    return sorted(set(hit)) or None
""",
    ),
    Canary(
        "no descriptors of the grader",
        "a box holds its three pipes and nothing else",
        CONFINED,
        """
def canary():
    import os, stat
    hit = []
    for number in range(1024):
        try: kind = os.fstat(number).st_mode
        except OSError: continue
        wanted = number < 5 and (stat.S_ISFIFO(kind) if number else stat.S_ISCHR(kind))
        if not wanted: hit.append([number, stat.filemode(kind)])
    return hit or None
""",
    ),
    Canary(
        "clean environment",
        "no variable of the grader's environment is passed on",
        CONFINED,
        """
def canary():
    import os
    known = 'HOME IPYTHONDIR LANG LC_CTYPE LOGNAME MKL_NUM_THREADS MPLBACKEND MPLCONFIGDIR OMP_NUM_THREADS '
    known += 'OPENBLAS_NUM_THREADS PATH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED TMPDIR TORCHDYNAMO_DISABLE '
    known += 'USER DO_NOT_TRACK HF_DATASETS_OFFLINE HF_EVALUATE_OFFLINE HF_HUB_CACHE HF_HUB_OFFLINE '
    known += 'HF_HUB_DISABLE_TELEMETRY HF_UPDATE_DOWNLOAD_COUNTS TRANSFORMERS_OFFLINE '
    known += 'JOBLIB_MULTIPROCESSING SSL_CERT_DIR WANDB_MODE'
    return sorted(set(os.environ) - set(known.split())) or None
""",
    ),
    Canary(
        "boxes apart",
        "another box of the same zygote cannot be seen, called or signalled",
        CONFINED,
        """
def canary():
    import os, socket
    hit = [p for p in ('/w/left', '/tmp/left', '/dev/shm/left') if os.path.exists(p)]
    with socket.socket(socket.AF_UNIX) as caller:
        try: caller.connect('\\0' + 'box-' + SOCKET); hit.append('socket')
        except OSError: pass
    try: os.kill(-1, 0); hit.append('processes')
    except OSError: pass
    return hit or None
""",
        neighbour="""
import socket
for place in ('/w/left', '/tmp/left', '/dev/shm/left'):
    open(place, 'w').close()
listener = socket.socket(socket.AF_UNIX)
listener.bind('\\0' + 'box-' + SOCKET)
listener.listen()
""",
    ),
    Canary(
        "neighbours",
        "what the kernel grants to a user, descriptors under way and memory of pipes, is each box's own",
        CONFINED,
        """
def canary():
    import errno, fcntl, os, socket
    hit = []
    one, other = socket.socketpair()
    try: socket.send_fds(one, [b'x'], [0])
    except OSError as error: hit.append(f'descriptors under way: {errno.errorcode.get(error.errno)}')
    pipes = [os.pipe() for _ in range(4)]
    size = min(fcntl.fcntl(reading, 1032) for reading, _ in pipes)
    if size < 65536: hit.append(f'pipes of {size} bytes')
    return hit or None
""",
        neighbour="""
import fcntl, os, socket
held = []
try:
    while True:
        one, other = socket.socketpair()
        held += [one, other]
        for _ in range(16): socket.send_fds(one, [b'x'], [0] * 16)
except OSError: pass
for _ in range(6):
    if os.fork() == 0:
        held.clear()
        pipes = []
        try:
            while True:
                pipes.append(os.pipe())
                try: fcntl.fcntl(pipes[-1][0], 1031, 1 << 20)
                except PermissionError: pass
        except OSError: pass
        while True: __import__('time').sleep(9)
__import__('time').sleep(0.3)
""",
        own_users=True,
    ),
    Canary(
        "bounded processes",
        "a fork bomb stops at the limit",
        CONFINED,
        """
def canary():
    import os, signal
    children = []
    try:
        while len(children) <= PROCESSES:
            pid = os.fork()
            if pid == 0:
                signal.pause()
            children.append(pid)
    except OSError: pass
    for pid in children: os.kill(pid, 9)
    return len(children) if len(children) >= PROCESSES else None
""",
    ),
    Canary(
        "bounded scratch space",
        "writing stops at the limit, and so does making files",
        CONFINED,
        """
def canary():
    import tempfile
    hit, piece = [], bytes(1 << 20)
    try:
        for number in range(3):
            with open(f'{tempfile.gettempdir()}/full{number}', 'wb') as f:
                for _ in range((SCRATCH >> 20) // 2): f.write(piece)
        hit.append('space')
    except OSError: pass
    try:
        for number in range(FILES + 1): open(f'{number}', 'x').close()
        hit.append('files')
    except OSError: pass
    return hit or None
""",
    ),
    Canary(
        "bounded memory",
        "taking memory ends at the limit",
        ALWAYS,
        """
def canary():
    held = []
    try:
        while len(held) << 22 <= MEMORY * 2: held.append(b'x' * (1 << 22))
    except MemoryError:
        held.clear()
        return None
    import time
    time.sleep(1)
    return f'{len(held) * 4} MB'
""",
        ends=(Ending.MEMORY,),
    ),
    Canary(
        "bounded time",
        "an endless loop that ignores signals ends at its deadline",
        ALWAYS,
        """
def canary():
    import signal, time
    for number in range(1, 32):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    end = time.monotonic() + 3
    while time.monotonic() < end: pass
    return 'it ran on'
""",
        ends=(Ending.CALL_TIME,),
        seconds=0.05,
    ),
    Canary(
        "bounded output",
        "a flood of output ends the box",
        ALWAYS,
        """
def canary():
    import os, time
    for _ in range(64): os.write(1, b'x' * OUTPUT)
    time.sleep(1)
    return 'a flood was taken'
""",
        ends=(Ending.OUTPUT,),
    ),
    Canary(
        "bounded resources",
        "open files stop at the limit; no core file, no locked memory, processor time bounded",
        CONFINED,
        """
def canary():
    import os, resource as r
    wanted = {r.RLIMIT_CORE: 0, r.RLIMIT_MEMLOCK: 0, r.RLIMIT_MSGQUEUE: 0, r.RLIMIT_CPU: PROCESSOR}
    hit = [[name, r.getrlimit(name)] for name, value in wanted.items() if r.getrlimit(name) != (value, value)]
    taken = []
    try:
        while len(taken) <= DESCRIPTORS: taken.append(os.dup(0))
        hit.append('descriptors')
    except OSError: pass
    for descriptor in taken: os.close(descriptor)
    for name, value in ((r.RLIMIT_CORE, 1), (r.RLIMIT_CPU, PROCESSOR - 1), (r.RLIMIT_FSIZE, SCRATCH - 1)):
        try: r.setrlimit(name, (value, value))
        except (OSError, ValueError): pass
        if r.getrlimit(name)[0] == value: hit.append(f'limit {name} can be changed')
    return hit or None
""",
    ),
)
