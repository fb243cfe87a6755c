"""The system calls a box may make: one table, a reason per group, compiled ahead of time.

`python -m autograder.sandbox.inside.seccomp` compiles the table with libseccomp into filters/<machine>.bpf;
those files are shipped, so that a machine that grades does not need libseccomp. A test compiles the table
again and compares. Any call that is not named fails with ENOSYS, so that libraries fall back (clone3 to
clone, for example); calls that student code is known to try fail with EPERM, so that its own error message is
understandable.
"""

from __future__ import annotations

import errno
import platform
import tempfile
from pathlib import Path
from typing import Any

from autograder.core.errors import SandboxUnavailable

FILTERS = Path(__file__).parent / "filters"
MACHINES = ("x86_64", "aarch64")

ALLOWED: tuple[tuple[str, str], ...] = (
    (
        "read and write open files",
        "read readv write writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek sendfile "
        "copy_file_range splice tee fsync fdatasync ftruncate truncate fallocate close close_range dup dup2 "
        "dup3",
    ),
    (
        "work with files where the mounts and Landlock allow it",
        "open openat openat2 stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 "
        "readlink readlinkat getdents getdents64 mkdir mkdirat rmdir unlink unlinkat rename renameat "
        "renameat2 link linkat symlink symlinkat chmod fchmod fchmodat utimensat utime utimes futimesat "
        "umask chdir fchdir getcwd",
    ),
    (
        "wait for events",
        "pipe pipe2 eventfd eventfd2 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
        "epoll_pwait2 poll ppoll select pselect6 timerfd_create timerfd_settime timerfd_gettime signalfd4",
    ),
    (
        "memory",
        "mmap mprotect munmap mremap madvise brk msync mincore mlock munlock membarrier get_mempolicy",
    ),
    (
        "signals and timers inside the box",
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend "
        "rt_sigqueueinfo sigaltstack kill tgkill tkill pause alarm setitimer getitimer timer_create "
        "timer_settime timer_gettime timer_delete timer_getoverrun pidfd_open pidfd_send_signal",
    ),
    (
        "processes and threads inside the box (multiprocessing, data loaders); clone without namespaces",
        "fork vfork wait4 waitid exit exit_group getpid getppid gettid getpgid getpgrp getsid setpgid "
        "set_tid_address rseq restart_syscall arch_prctl futex futex_waitv set_robust_list get_robust_list",
    ),
    (
        "ask about oneself and the machine",
        "getuid geteuid getgid getegid getgroups getresuid getresgid getrlimit getrusage "
        "times sysinfo uname getcpu capget getpriority sched_yield sched_getaffinity sched_setaffinity "
        "sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min",
    ),
    (
        "time and randomness",
        "gettimeofday time clock_gettime clock_getres clock_nanosleep nanosleep getrandom",
    ),
    (
        "sockets between processes of the box (asyncio, multiprocessing); the namespace has no network",
        "socketpair sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername getsockopt "
        "bind listen accept accept4 connect",
    ),
)

REFUSED: tuple[tuple[str, str], ...] = (
    ("look into other processes", "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd"),
    (
        "change mounts and namespaces",
        "mount umount2 pivot_root chroot fsopen fsmount fsconfig fspick move_mount open_tree mount_setattr "
        "unshare setns",
    ),
    (
        "reach kernel subsystems with a history of holes",
        "bpf keyctl add_key request_key io_uring_setup io_uring_enter io_uring_register userfaultfd "
        "perf_event_open modify_ldt personality uselib ustat sysfs fanotify_init fanotify_mark",
    ),
    (
        "administer the machine",
        "kexec_load kexec_file_load init_module finit_module delete_module quotactl swapon swapoff reboot "
        "acct syslog settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname iopl "
        "ioperm vhangup lookup_dcookie nfsservctl name_to_handle_at open_by_handle_at",
    ),
    (
        "change identity, ownership or scheduling",
        "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset chown fchown "
        "lchown fchownat mknod mknodat setpriority sched_setscheduler sched_setparam sched_setattr "
        "ioprio_set",
    ),
    ("start other programs", "execve execveat"),
    ("get a share of the processors per process, where the kernel divides them by session", "setsid"),
    (
        "hold memory outside the limits or signal across boxes through shared files",
        "memfd_create memfd_secret shmget shmat shmctl semget msgget mq_open vmsplice flock inotify_init "
        "inotify_init1 inotify_add_watch move_pages mbind set_mempolicy migrate_pages",
    ),
)

_NAMESPACE_FLAGS = 0x7E02_0000
_AF_UNIX = 1
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ; no locks, no
# leases.
_FCNTL = (0, 1, 2, 3, 4, 1030, 1031, 1032)
# PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_GET_SECUREBITS,
# PR_GET_NO_NEW_PRIVS and PR_SET_VMA (naming of anonymous memory by libc).
_PRCTL = (2, 3, 15, 16, 23, 27, 39, 0x5356_4D41)
# TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ: what isatty and the standard library ask.
_IOCTL = (0x5401, 0x541B, 0x5421, 0x5451, 0x5450, 0x5413)

# SO_REUSEADDR, SO_KEEPALIVE, SO_LINGER, SO_PASSCRED, SO_RCVTIMEO, SO_SNDTIMEO; no larger buffers, because
# only control groups count them: 125 pairs of sockets held 2 GB.
_SETSOCKOPT = (2, 9, 13, 16, 20, 21)


def compile_filter(machine: str) -> bytes:
    """Compile the table to a BPF program for one architecture; needs libseccomp."""
    import pyseccomp as libseccomp

    rules = libseccomp.SyscallFilter(libseccomp.ERRNO(errno.ENOSYS))
    wanted, native = getattr(libseccomp.Arch, machine.upper()), libseccomp.system_arch()
    if wanted != native:
        rules.add_arch(wanted)
        rules.remove_arch(native)
    allow, refuse = libseccomp.ALLOW, libseccomp.ERRNO(errno.EPERM)
    for table, action in ((ALLOWED, allow), (REFUSED, refuse)):
        for _, names in table:
            for name in names.split():
                _add(rules, action, name)
    argument = libseccomp.Arg
    # Limits can be read but not set: a process that lowers its own could make the kernel kill it at a moment
    # of its choice, which only this side may do. Setting one's own limits seems to succeed: notebooks do it
    # as a precaution, and do not depend on the effect.
    of_others, new = argument(0, libseccomp.NE, 0), argument(2, libseccomp.NE, 0)
    _add(rules, allow, "prlimit64", argument(2, libseccomp.EQ, 0))
    _add(rules, libseccomp.ERRNO(0), "prlimit64", argument(0, libseccomp.EQ, 0), new)
    _add(rules, refuse, "prlimit64", of_others, new)
    _add(rules, libseccomp.ERRNO(0), "setrlimit")
    _add(rules, allow, "clone", argument(0, libseccomp.MASKED_EQ, _NAMESPACE_FLAGS, 0))
    _add(rules, allow, "socket", argument(0, libseccomp.EQ, _AF_UNIX))
    _add(rules, libseccomp.ERRNO(errno.EACCES), "socket", argument(0, libseccomp.NE, _AF_UNIX))
    for name, position, values in (
        ("fcntl", 1, _FCNTL),
        ("prctl", 0, _PRCTL),
        ("setsockopt", 2, _SETSOCKOPT),
    ):
        for value in values:
            _add(rules, allow, name, argument(position, libseccomp.EQ, value))
    for value in _IOCTL:
        # The kernel checks only 32 bits of the request, so the filter must as well.
        _add(rules, allow, "ioctl", argument(1, libseccomp.MASKED_EQ, 0xFFFF_FFFF, value))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(rules: Any, action: int, name: str, *arguments: Any) -> None:
    try:
        rules.add_rule(action, name, *arguments)
    except OSError as error:
        # Old calls (open, fork, ...) do not exist on newer architectures; there is nothing to filter.
        if error.errno != errno.EDOM:
            raise


def load_shipped_filter() -> bytes:
    """Return the compiled filter for this machine.

    Raises:
        SandboxUnavailable: none is shipped for this architecture.
    """
    machine = platform.machine()
    path = FILTERS / f"{machine}.bpf"
    if not path.is_file():
        raise SandboxUnavailable(
            f"no system call filter is shipped for the architecture {machine}; "
            f"supported are {', '.join(MACHINES)}. Grade on one of those."
        )
    return path.read_bytes()


def main() -> None:
    """Write the compiled filters."""
    FILTERS.mkdir(exist_ok=True)
    for machine in MACHINES:
        (FILTERS / f"{machine}.bpf").write_bytes(compile_filter(machine))


if __name__ == "__main__":
    main()
