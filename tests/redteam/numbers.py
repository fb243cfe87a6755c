"""Numbers of the system calls that the attacks make (asm/unistd_64.h, asm-generic/unistd.h)."""

from __future__ import annotations

import platform

_EVERYWHERE = {
    "clone3": 435, "fsmount": 432, "fsopen": 430, "io_uring_enter": 426, "io_uring_register": 427,
    "io_uring_setup": 425, "landlock_create_ruleset": 444, "listmount": 458, "lsm_list_modules": 461,
    "map_shadow_stack": 453, "memfd_secret": 447, "mount_setattr": 442, "move_mount": 429, "mseal": 462,
    "open_tree": 428, "pidfd_getfd": 438, "process_mrelease": 448, "quotactl_fd": 443, "statmount": 457,
}  # fmt: skip
_BY_MACHINE = {
    "x86_64": {
        "acct": 163, "add_key": 248, "bpf": 321, "capset": 126, "chroot": 161, "clone": 56, "execve": 59,
        "execveat": 322, "fanotify_init": 300, "finit_module": 313, "flock": 73, "fsetxattr": 190,
        "init_module": 175, "inotify_init1": 294, "ioctl": 16, "ioprio_set": 251, "kcmp": 312,
        "kexec_load": 246, "keyctl": 250, "mbind": 237, "migrate_pages": 256, "mount": 165, "mq_open": 240,
        "msgget": 68, "name_to_handle_at": 303, "open_by_handle_at": 304, "perf_event_open": 298,
        "personality": 135, "pivot_root": 155, "pkey_alloc": 330, "prctl": 157, "process_vm_readv": 310,
        "process_vm_writev": 311, "ptrace": 101, "quotactl": 179, "reboot": 169, "request_key": 249,
        "sched_setattr": 314, "seccomp": 317, "semget": 64, "setfsuid": 122, "setgid": 106,
        "sethostname": 170, "setns": 308, "setresgid": 119, "setresuid": 117, "setreuid": 113,
        "settimeofday": 164, "setuid": 105, "setxattr": 188, "shmget": 29, "swapon": 167, "syslog": 103,
        "umount2": 166, "unshare": 272, "userfaultfd": 323, "vmsplice": 278,
    },
    "aarch64": {
        "acct": 89, "add_key": 217, "bpf": 280, "capset": 91, "chroot": 51, "clone": 220, "execve": 221,
        "execveat": 281, "fanotify_init": 262, "finit_module": 273, "flock": 32, "fsetxattr": 7,
        "init_module": 105, "inotify_init1": 26, "ioctl": 29, "ioprio_set": 30, "kcmp": 272,
        "kexec_load": 104,
        "keyctl": 219, "mbind": 235, "migrate_pages": 238, "mount": 40, "mq_open": 180, "msgget": 186,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "perf_event_open": 241, "personality": 92,
        "pivot_root": 41, "pkey_alloc": 289, "prctl": 167, "process_vm_readv": 270, "process_vm_writev": 271,
        "ptrace": 117, "quotactl": 60, "reboot": 142, "request_key": 218, "sched_setattr": 274,
        "seccomp": 277,
        "semget": 190, "setfsuid": 151, "setgid": 144, "sethostname": 161, "setns": 268, "setresgid": 149,
        "setresuid": 147, "setreuid": 145, "settimeofday": 170, "setuid": 146, "setxattr": 5, "shmget": 194,
        "swapon": 224, "syslog": 116, "umount2": 39, "unshare": 97, "userfaultfd": 282, "vmsplice": 75,
    },
}  # fmt: skip


def numbers() -> dict[str, int]:
    """Return the numbers by name, for this machine."""
    return _EVERYWHERE | _BY_MACHINE[platform.machine()]
