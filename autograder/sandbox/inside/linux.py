"""The Linux calls that confinement is made of, through ctypes; no policy, no state.

Every function raises OSError with a text that names the failed call, so that a missing layer can be reported
by name. Sources: the manual pages unshare(2), mount(2), mount_setattr(2), pivot_root(2), prctl(2), capset(2),
landlock(7), seccomp(2), user_namespaces(7).
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import stat
import struct
from collections.abc import Sequence

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

CLONE_NEWNS = 0x0002_0000
CLONE_NEWCGROUP = 0x0200_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000
ALL_NAMESPACES = (
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP
)

_CLONE_PIDFD = 0x1000
# Since Linux 6.1; before it the call fails, and forks copy small pages.
_MADV_COLLAPSE = 25

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 4, 24, 28
PR_SET_THP_DISABLE = 41
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
CHANGE_USER = (6, 7)
"""CAP_SETGID and CAP_SETUID."""
# noroot, no_setuid_fixup and keep_caps with their locks: no way back to capabilities through uid 0.
SECUREBITS = 0x2F

# These numbers are the same on every architecture; the four below them are not.
_OPEN_TREE, _MOVE_MOUNT, _CLOSE_RANGE, _MOUNT_SETATTR = 428, 429, 436, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_BY_MACHINE = {
    "x86_64": {"pivot_root": 155, "capset": 126, "seccomp": 317, "clone": 56},
    "aarch64": {"pivot_root": 41, "capset": 91, "seccomp": 277, "clone": 220},
}
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8


def _check_result(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: int | bytes | None, purpose: str) -> int:
    """Make a raw system call; integers are passed as C longs.

    Raises:
        OSError: it failed; the text begins with `purpose`.
    """
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _check_result(int(LIBC.syscall(ctypes.c_long(number), *converted)), purpose)


def find_syscall_number(name: str) -> int:
    """Return the number of a system call that differs between architectures.

    Raises:
        OSError: this architecture is not supported.
    """
    try:
        return _BY_MACHINE[platform.machine()][name]
    except KeyError:
        raise OSError(0, f"{name}: the architecture {platform.machine()} is not supported") from None


def unshare(flags: int) -> None:
    """Enter fresh namespaces."""
    _check_result(LIBC.unshare(flags), f"unshare({flags:#x})")


def fork_into(namespaces: int) -> tuple[int, int]:
    """Fork a child that begins in fresh namespaces; (its pid, a descriptor of it), or (0, -1) in the child.

    One copy of the address space instead of the two that forking, unsharing and forking again cost: half of
    the cost of a box if torch is loaded. Neither libc nor Python updates its state for the fork: Python would
    create new locks, which are not held, and write to 300 pages for that. This is sound only for a
    single-threaded process that is number 1 of a process namespace, forking into another one, because
    then the thread id that both remember stays right. The caller must seed random generators.
    """
    descriptor = ctypes.c_int(-1)
    # clone(2): CLONE_PIDFD returns the descriptor through the third argument, which is the same on both
    # architectures; the order of the last two, which are not used, differs.
    arguments = (namespaces | _CLONE_PIDFD | signal.SIGCHLD, 0, ctypes.addressof(descriptor), 0, 0)
    number = ctypes.c_long(find_syscall_number("clone"))
    pid = int(LIBC.syscall(number, *[ctypes.c_ulong(argument) for argument in arguments]))
    error = ctypes.get_errno()
    if pid == 0:
        return 0, -1
    if pid < 0:
        raise OSError(error, f"clone({namespaces:#x}): {os.strerror(error)}")
    return pid, descriptor.value


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = LIBC.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None)
    _check_result(result, f"mount({source!r}, {target!r}, {kind!r}, {options!r})")


def unmount(target: str, flags: int) -> None:
    """Unmount; see umount2(2)."""
    _check_result(LIBC.umount2(os.fsencode(target), flags), f"umount2({target!r})")


def prctl(option: int, argument: int = 0) -> None:
    """Change a property of this process."""
    _check_result(LIBC.prctl(option, ctypes.c_ulong(argument), 0, 0, 0), f"prctl({option}, {argument})")


def clone_mount(source: str, *, devices: bool = False, execute: bool = False) -> int:
    """Create a detached read-only copy of the mounts below ``source`` (a folder or file).

    Taking the copies first and attaching them later means that nothing mounted in between can hide a
    source. Returns a descriptor for `attach_mount`.
    """
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    tree = syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(source), flags, purpose=f"open_tree({source!r})")
    attributes = _ATTR_NOSUID | _ATTR_RDONLY
    attributes |= 0 if devices else _ATTR_NODEV
    attributes |= 0 if execute else _ATTR_NOEXEC
    request = struct.pack("QQQQ", attributes, 0, 0, 0)
    where = f"mount_setattr({source!r})"
    try:
        how = _AT_EMPTY_PATH | _AT_RECURSIVE
        syscall(_MOUNT_SETATTR, tree, b"", how, request, len(request), purpose=where)
    except OSError:
        os.close(tree)
        raise
    return tree


def attach_mount(tree: int, target: str) -> None:
    """Attach a detached mount at an existing path, and close its descriptor."""
    where = f"move_mount({target!r})"
    try:
        path = os.fsencode(target)
        syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, path, _MOVE_MOUNT_F_EMPTY_PATH, purpose=where)
    finally:
        os.close(tree)


def pivot_root(new_root: str) -> None:
    """Make ``new_root`` the root and detach everything else."""
    os.chdir(new_root)
    # pivot_root(2): with the same folder twice the old root is stacked on the new one, so no folder is
    # needed for it, and it is the one that is detached.
    syscall(find_syscall_number("pivot_root"), b".", b".", purpose="pivot_root")
    unmount(".", MNT_DETACH)
    os.chdir("/")


def merge_range(address: int, length: int) -> bool:
    """Gather mapped memory into huge pages at once; False if the kernel does not allow it for all of it."""
    result: int = LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), _MADV_COLLAPSE)
    return result == 0


def close_from(first: int) -> None:
    """Close every descriptor from ``first`` upwards."""
    syscall(_CLOSE_RANGE, first, 0xFFFF_FFFF, 0, purpose="close_range")


def set_host_name(name: bytes) -> None:
    """Name the host of this UTS namespace."""
    _check_result(LIBC.sethostname(name, len(name)), "sethostname")


def drop_bounding_set() -> None:
    """Drop what an exec could gain; without CAP_SETPCAP nothing is dropped and nothing can be gained."""
    for capability in range(64):
        if LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) != 0:
            break  # past the last capability this kernel knows


def drop_capabilities(*, keep: Sequence[int] = ()) -> None:
    """Give up every capability for good: bounding set, ambient set, securebits, and the sets in force.

    Args:
        keep: those that stay in force; numbers below 32.
    """
    drop_bounding_set()
    result = LIBC.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    _check_result(result, "prctl(PR_CAP_AMBIENT_CLEAR_ALL)")
    prctl(PR_SET_SECUREBITS, SECUREBITS)
    # The header of 64 capability bits; version 1 sets the lower 32 alone.
    version_3 = 0x2008_0522
    kept = sum(1 << number for number in keep)
    # In force, permitted and inheritable; then the same for numbers from 32.
    sets = struct.pack("6I", kept, kept, 0, 0, 0, 0)
    syscall(find_syscall_number("capset"), struct.pack("Ii", version_3, 0), sets, purpose="capset")


def forbid_new_privileges() -> None:
    """Forbid that any exec adds a privilege."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def load_filter(program: bytes) -> None:
    """Load a compiled seccomp filter (an array of struct sock_filter, 8 bytes each)."""
    buffer = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a 16-bit number of instructions, padding, and a pointer.
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    set_mode_filter = 1
    syscall(find_syscall_number("seccomp"), set_mode_filter, 0, header, purpose="seccomp(SET_MODE_FILTER)")


# ---------------------------------------------------------------- Landlock

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15


def get_landlock_version() -> int:
    """Return the kernel's Landlock ABI; 0 if it is not built in or not switched on."""
    version = LIBC.syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_long(0), ctypes.c_long(1))
    return max(0, int(version))


def restrict_files(readable: Sequence[str], writable: Sequence[str], devices: Sequence[str]) -> None:
    """Restrict the file system to reading some trees, writing others, and using a few device files.

    TCP is refused altogether, and signals and abstract sockets are scoped if the kernel's ABI supports it.
    """
    version = get_landlock_version()
    # All rights of version 1; a kernel refuses rights that it does not know.
    handled = (1 << 13) - 1
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= right if version >= since else 0
    network = 3 if version >= 4 else 0  # bind and connect of TCP: handled, and never allowed
    scoped = 3 if version >= 6 else 0  # abstract UNIX sockets and signals
    # The kernel's structure has grown with its versions.
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("QQQ", handled, network, scoped)[:size]
    ruleset = syscall(_LANDLOCK_CREATE, attributes, size, 0, purpose="landlock_create_ruleset")
    read = _READ_FILE | _READ_DIR
    write = handled & ~(_EXECUTE | _MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
    device = (_READ_FILE | _WRITE_FILE | _TRUNCATE) & handled
    for paths, rights in ((readable, read), (writable, write), (devices, device)):
        for path in paths:
            _add_landlock_rule(ruleset, path, rights)
    syscall(_LANDLOCK_RESTRICT, ruleset, 0, purpose="landlock_restrict_self")
    os.close(ruleset)


def _add_landlock_rule(ruleset: int, path: str, rights: int) -> None:
    # landlock(7): a rule needs only a reference to the file, not the right to read it.
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        path_beneath = 1
        # On a file the kernel refuses rights that only folders have.
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
        rule = struct.pack("=Qi", rights, descriptor)
        syscall(_LANDLOCK_ADD, ruleset, path_beneath, rule, 0, purpose=f"landlock_add_rule({path!r})")
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------- huge pages
# They make the zygote's memory cheap to copy: the cost of a fork, and of an exit, is per page table entry.
# With torch a zygote holds some 50,000 small anonymous pages, and copying and freeing their entries is most
# of the cost of a box. Gathered into huge pages they are a hundred entries. A box that writes to one gets a
# small page as before: the kernel splits the entry, not the memory.


HUGE_BYTES = 2 << 20


def measure_address_space(proc: int) -> int:
    """Return the bytes of address space in use.

    Args:
        proc: a descriptor of /proc; see `jail.open_proc`.
    """
    return int(_read_file(proc, "self/statm").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def gather_huge_pages(proc: int) -> bool:
    """Gather this process's anonymous memory into huge pages; return whether any range could be.

    None can if the kernel has no such call (before Linux 6.1) or no room: forks are then only more expensive.
    One request per range: the kernel first waits for all processors, however small the request is.

    Args:
        proc: a descriptor of /proc; see `jail.open_proc`.
    """
    gathered = False
    for start, end in find_anonymous_ranges(_read_file(proc, "self/maps").decode()):
        first, last = -(-start // HUGE_BYTES) * HUGE_BYTES, end // HUGE_BYTES * HUGE_BYTES
        if first < last:
            gathered |= merge_range(first, last - first)
    return gathered


def find_anonymous_ranges(maps: str) -> list[tuple[int, int]]:
    """Find the address ranges of private memory that belongs to no file, in the text of /proc/self/maps."""
    ranges = []
    for line in maps.splitlines():
        addresses, mode, _, _, inode, *_ = line.split()
        if mode == "rw-p" and inode == "0" and not line.endswith("[stack]"):
            start, _, end = addresses.partition("-")
            ranges.append((int(start, 16), int(end, 16)))
    return ranges


def _read_file(proc: int, path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY, dir_fd=proc)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
