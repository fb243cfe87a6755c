"""Reaching out of the box: files, processes, the network, the grader's memory."""

from __future__ import annotations

from tests.hostile.attack import Attack, called, one

FILES = (
    one(
        "reading secrets",
        "for path in (*TARGETS['files'], '/etc/shadow', '/root', '/home', '/proc/1/environ', '/proc/self/environ',\n"
        "             '/proc/self/maps', '/proc/self/mem', '/sys/kernel/notes', '/old_root', '/var', TARGETS['home']):\n"
        "    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read(1))",
    ),
    one(
        "reading through links",
        "for number, path in enumerate(TARGETS['files']):\n    os.symlink(path, f'/w/link{number}')\n"
        "    attempt(path, lambda: open(f'/w/link{number}').read())\n"
        "    attempt(path, lambda: os.link(path, f'/w/hard{number}'))",
    ),
    one(
        "climbing out of the root",
        "up = '/w/' + '../' * 40\nif sorted(os.listdir(up)) != sorted(os.listdir('/')): reached.append(up)\n"
        "for fd in range(64):\n    attempt(fd, lambda: os.listdir(fd))\n    attempt(fd, lambda: os.open('..', os.O_RDONLY, dir_fd=fd))",
    ),
    one(
        "writing outside of the scratch space",
        "import sysconfig\nfor place in ('/', '/usr/lib', '/etc', '/data', '/packages', '/proc', '/sys/devices/system/cpu', '/dev',\n"
        "              sysconfig.get_path('purelib'), sysconfig.get_path('stdlib')):\n"
        "    attempt(place, lambda: open(place + '/sitecustomize.py', 'w'))\n    attempt(place, lambda: os.mkdir(place + '/x'))\n"
        "    attempt(place, lambda: os.chmod(place, 0o777))\n    attempt(place, lambda: os.rename(place, '/w/moved'))",
    ),
    one(
        "writing the gradebook and a neighbour's submission",
        "for path in TARGETS['files']:\n    attempt(path, lambda: open(path, 'a').write('100'))\n"
        "    attempt(path, lambda: os.makedirs(os.path.dirname(path)))\n    attempt(path, lambda: os.remove(path))",
    ),
    one(
        "start-up files for the next student",
        "for path in ('.ipython/profile_default/startup/0.py', 'sitecustomize.py', 'usercustomize.py', 'torch.py', 'numpy.py'):\n"
        "    os.makedirs(os.path.dirname('/w/' + path), exist_ok=True)\n"
        "    open('/w/' + path, 'w').write('def honest(values): return 0')",
    ),
    Attack(
        "modules beside the notebook that shadow the grader's",
        (
            "import json, numpy\nreached += [m.__name__ for m in (json, numpy) if m.__file__.startswith('/w')]",
        ),
        files={name: b"raise SystemExit" for name in ("numpy.py", "json.py", "torch.py", "autograder.py")},
    ),
    one(
        "device files",
        "for name, kind in (('kmem', 0o020666), ('disk', 0o060666)):\n    attempt(name, lambda: os.mknod('/w/' + name, kind, os.makedev(1, 2)))\n"
        "for name in ('mem', 'kmsg', 'tty', 'console', 'ptmx', 'fuse', 'kvm', 'sda', 'vda', 'loop0'):\n"
        "    attempt(name, lambda: open('/dev/' + name, 'rb'))",
    ),
    one(
        "locks and leases on shared files",
        "for path in (os.__file__, '/dev/null', '/usr/lib'):\n    fd = os.open(path, os.O_RDONLY)\n"
        "    attempt(path, lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))\n"
        "    attempt(path, lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK))\n"
        "    attempt(path, lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB))\n"
        "    attempt(path, lambda: fcntl.fcntl(fd, fcntl.F_NOTIFY, 1))\n    os.close(fd)",
    ),
    one(
        "running what one has written",
        "import _ctypes\nopen('/w/x.so', 'wb').write(open(_ctypes.__file__, 'rb').read())\n"
        "attempt('load', lambda: ctypes.CDLL('/w/x.so'))",
    ),
)

PROCESSES = (
    one(
        "signals to everybody",
        "for pid in (*TARGETS['processes'], -1, *range(2, 3000)):\n    attempt(pid, lambda: os.kill(pid, 0))\n"
        "for pid in TARGETS['processes']:\n    attempt(pid, lambda: os.kill(pid, signal.SIGKILL))\n"
        "    attempt(pid, lambda: os.pidfd_open(pid))\n    attempt(pid, lambda: os.killpg(pid, 9))\n"
        "if (os.getpid(), os.getppid()) != (1, 0): reached.append('parent')",
    ),
    one(
        "priorities of others",
        "for pid in TARGETS['processes']:\n    attempt(pid, lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))\n"
        "    attempt(pid, lambda: os.sched_setaffinity(pid, {0}))\nattempt('self', lambda: os.nice(-5))",
    ),
    one(
        "becoming someone else",
        "for become in (os.setuid, os.setgid, os.seteuid, os.setegid):\n    attempt(become, lambda: become(0))\n"
        "attempt('groups', lambda: os.setgroups([0]))\nattempt('chown', lambda: os.chown('/w', 0, 0))",
    ),
    one(
        "other programs",
        "import subprocess\nattempt('sh', lambda: subprocess.run(['/bin/sh', '-c', 'id']))\n"
        "attempt('python', lambda: subprocess.run([sys.executable, '-c', 'print(1)']))\n"
        "attempt('spawn', lambda: os.posix_spawn(sys.executable, ['x'], {}))\n"
        "attempt('exec', lambda: os.execv(sys.executable, ['x']))\n"
        "if os.system('true') == 0: reached.append('system')",
    ),
)

NETWORK = (
    one(
        "connections to the machine and the world",
        "for family, address in ((socket.AF_INET, ('127.0.0.1', TARGETS['port'])), (socket.AF_INET6, ('::1', TARGETS['port'])),\n"
        "                        (socket.AF_INET, ('8.8.8.8', 53)), (socket.AF_UNIX, '\\0' + TARGETS['abstract']),\n"
        "                        (socket.AF_UNIX, '/run/docker.sock'), (socket.AF_UNIX, '/run/systemd/private')):\n"
        "    attempt(address, lambda: socket.socket(family).connect(address))\n"
        "attempt('name', lambda: socket.getaddrinfo('example.org', 80))\n"
        "attempt('datagram', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53)))",
    ),
    one(
        "socket families with a history",
        "for family in (3, 5, 9, 10, 15, 16, 17, 21, 29, 30, 31, 32, 38, 39, 40, 44):\n"
        "    for kind in (1, 2, 3, 5):\n        attempt((family, kind), lambda: socket.socket(family, kind))",
    ),
    one("the list of network devices", "attempt('devices', lambda: socket.if_nameindex())"),
    one(
        "credentials over a socket",
        "a, b = socket.socketpair()\nfor pid in TARGETS['processes']:\n"
        "    attempt(pid, lambda: a.sendmsg([b'x'], [(socket.SOL_SOCKET, 2, struct.pack('iii', pid, 0, 0))]))",
    ),
)

ANSWERS = (
    called(
        "stack frames",
        "def attack():\n    frame, seen = sys._getframe(), []\n    while frame:\n"
        "        seen += [n for n, v in list(frame.f_locals.items()) if n in ('expected', 'rubric', 'secret', 'solution', 'points')]\n"
        "        frame = frame.f_back\n    reached.extend(seen)",
    ),
    called(
        "every object in memory",
        "import gc\ndef attack():\n    for x in gc.get_objects():\n"
        "        if type(x).__name__ in ('Score', 'Rubric', 'Evidence', 'Check', 'Submission'): reached.append(type(x).__name__)\n"
        "        if type(x) is dict and {'expected', 'accept', 'points'} & set(map(str, x)) and '__name__' not in x:\n"
        "            if TARGETS['word'] in repr(x)[:100_000]: reached.append('dict')",
    ),
    one(
        "the grader's own modules",
        "for name in ('autograder.checks', 'autograder.grading', 'autograder.scoring', 'reference', 'nbgrader.api', 'rubrics'):\n"
        "    attempt(name, lambda: __import__(name).grade) if name in sys.modules else attempt(name, lambda: __import__(name).checks)",
    ),
    one(
        "the environment",
        "hidden = [n for n in os.environ if 'AUTOGRADER' in n or 'TOKEN' in n or 'PYTHON' in n and n != 'PYTHONDONTWRITEBYTECODE']\n"
        "reached += hidden",
    ),
    one(
        "the command line and the parent's descriptors",
        "reached += [a for a in sys.argv if '/' in a]\n"
        "def is_open(n):\n    try:\n        os.fstat(n)\n    except OSError:\n        return False\n    return True\n"
        "reached += [n for n in range(5, 64) if is_open(n)]",
    ),
)

REACH: tuple[Attack, ...] = (*FILES, *PROCESSES, *NETWORK, *ANSWERS)
