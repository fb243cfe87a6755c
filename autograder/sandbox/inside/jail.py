"""The order in which a process gives up its access. Runs in the zygote and its children only.

The zygote is confined once (`enter_jail`): a private view of the file system that holds the interpreter, its
libraries and the assignment's files, everything read-only; fresh namespaces of every kind; its own identity.
Each box is confined again inside it (`restrict_box`): its own namespaces, a scratch space of bounded size,
resource limits, no capabilities, Landlock, and last the system call filter.

As root the mounts come first, because only root may read an interpreter below a private home; then the
dedicated uid; then the user namespace. An ordinary user needs the user namespace to mount at all.

The kernel bounds many resources by user and not by process: descriptors in flight in sockets, memory of
pipes, watches of an epoll, pending signals. As root every box therefore has an exclusive uid, and
the zygote's user namespace holds them all. It keeps the right to switch among them, and only among them.

The level `none` (`BareConfinement`) confines hardly at all: see docs/security.md.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import resource
import shutil
import signal
import socket
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.core.paths import list_files_below
from autograder.sandbox.inside import linux

INNER_ID = 1000
# pivot_root(2) needs a mount point as the new root; which of these folders exists depends on the machine.
NEW_ROOTS = ("/mnt", "/tmp", "/srv", "/opt")
DEVICES = ("null", "zero", "full", "random", "urandom")
PASSWD = f"student:x:{INNER_ID}:{INNER_ID}::/w:/nonexistent\n"
DATA = "/data"
SCRATCH = ("/w", "/tmp", "/dev/shm")
"""The folders in which a box may write; their previous contents are hidden."""
INSTALLED = "/installed"
"""Where a box sees libraries that are below its scratch space on the machine, as of a checkout in /tmp."""
HUB = "/hub"
"""The folder in a box that the Hugging Face libraries search for models."""
LARGE = 1 << 20
"""Bytes from which on a file of an assignment is mounted, and not copied into each zygote's memory."""
_PART = 1 << 20
ROOT_OPTIONS = "size=512m,nr_inodes=16384,mode=755"
EXIT_NOT_CONFINED = 97
"""Exit status of a box that failed before any student code ran: our fault."""
PENDING_SIGNALS = 256
"""Queued signals and timers of one box; a user namespace has one account of them for all of its boxes."""
EXIT_NO_MEMORY = 98
"""Exit status of a box that has not even enough memory to answer."""


class Jail:
    """How the level `namespaces` confines."""

    home = "/w"
    """The home folder while modules are imported."""
    hub = HUB
    """The folder in which the Hugging Face libraries find the assignment's models."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._ids = self._own = (os.getuid(), os.getgid())
        self.proc = open_proc()

    def isolate_zygote(self, control: socket.socket) -> None:
        """Enter the jail; the caller continues as its process 1, without privileges."""
        config = self._config
        config["moved"] = plan_moves(config["readable"])
        enter_jail(config, self.proc)
        update_import_paths(config["moved"])
        # Student code can read this memory: paths of this machine must not remain in it.
        config["files"] = list_top_names(config)
        del config["readable"], config["moved"]
        # unshare(2) moves only children into the new process namespace; the first becomes its process 1.
        if os.fork():
            # The outer process only waits: it keeps the jail's process 1 a child of the broker's child.
            control.close()
            os.wait()
            os._exit(0)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        linux.drop_capabilities(keep=() if config["uid"] is None else linux.CHANGE_USER)
        linux.forbid_new_privileges()
        self._own = os.getuid(), os.getgid()

    def fork_box(self, request: dict[str, Any], status: socket.socket) -> tuple[int, int]:
        """Fork process 1 of a box, in new namespaces that belong to the box's own user, if it has one.

        Returns the process that the zygote has to wait for, and a descriptor of it; (0, -1) in the box.
        """
        uid = request["uid"]
        self._ids = self._own if uid is None else (uid, uid)
        self._switch_user(self._ids)
        try:
            pid, pidfd = linux.fork_into(linux.ALL_NAMESPACES)
        except OSError:
            self._switch_user(self._own)
            raise
        if pid:
            self._switch_user(self._own)
            socket.send_fds(status, [b"box"], [pidfd])
        return pid, pidfd

    def _switch_user(self, ids: tuple[int, int]) -> None:
        """Create new objects as another user that the zygote's namespace holds."""
        uid, gid = ids
        if os.geteuid() == uid:
            return
        os.setresgid(-1, gid, -1)
        os.setresuid(-1, uid, -1)
        # The change of user resets both: who owns the process's id maps, and the signal when the parent dies.
        linux.prctl(linux.PR_SET_DUMPABLE, 1)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)

    def begin_box(self, request: dict[str, Any]) -> None:
        """Map an identity in the new user namespace, and die with the zygote.

        The box still has the zygote's descriptors.
        """
        write_id_maps(self.proc, *self._ids)
        if request["uid"] is not None:  # so far only the effective id; the kernel charges the real one
            os.setresgid(INNER_ID, INNER_ID, INNER_ID)
            os.setresuid(INNER_ID, INNER_ID, INNER_ID)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)

    def isolate_box(self, request: dict[str, Any]) -> None:
        """See `restrict_box`."""
        config = self._config
        program = base64.b64decode(config["filter"])
        restrict_box(request["limits"], program, config["files"])
        os.environ["TMPDIR"] = "/tmp"

    def end_boxes(self) -> None:
        """Do nothing: the kernel ends every process in this process's namespace with it."""

    def collect_box(self, pid: int) -> dict[str, Any]:
        """Report how process 1 ended; every other process of the box ended with it."""
        return wait_for(pid)


def wait_for(pid: int) -> dict[str, Any]:
    """Wait for a child and report its wait status, processor seconds and peak bytes of memory."""
    _, status, usage = os.wait4(pid, 0)
    # The kernel reports the memory in kilobytes.
    return {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss << 10}


def open_proc() -> int:
    """Open a descriptor of /proc, to write id maps after /proc is gone from the file system."""
    return os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def write_id_maps(proc: int, uid: int, gid: int) -> None:
    """Map the given outer ids to the inner ones in this process's new user namespace."""
    _write_maps(proc, "self", f"{INNER_ID} {uid} 1", f"{INNER_ID} {gid} 1")


def _write_maps(proc: int, process: str, uids: str, gids: str) -> None:
    # The kernel lets an unprivileged process write gid_map only after setgroups is denied.
    for name, text in (("setgroups", "deny"), ("uid_map", uids), ("gid_map", gids)):
        descriptor = os.open(f"{process}/{name}", os.O_WRONLY, dir_fd=proc)
        try:
            os.write(descriptor, text.encode())
        except OSError as error:
            raise OSError(error.errno, f"writing {name}: {error.strerror}") from error
        finally:
            os.close(descriptor)


def enter_jail(config: Mapping[str, Any], proc: int) -> None:
    """Build the private file system and enter fresh namespaces; the next fork is their process 1."""
    if os.geteuid() == 0:
        linux.unshare(linux.CLONE_NEWNS)
        _build_root(config)
        map_ids = _fork_id_mapper(proc, *config["uids"])
        _set_user(config["uid"])
        linux.unshare(linux.ALL_NAMESPACES)
        map_ids()
    else:
        uid, gid = os.getuid(), os.getgid()
        linux.unshare(linux.ALL_NAMESPACES)
        write_id_maps(proc, uid, gid)
        _build_root(config)


def _fork_id_mapper(proc: int, first: int, last: int) -> Callable[[], None]:
    """Fork a helper that stays root; the returned function makes it map these ids in our namespace.

    Each id is mapped to itself. An ordinary process may map its own id alone.
    """
    process = os.readlink("self", dir_fd=proc)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            theirs.recv(1)
            _write_maps(proc, process, *[f"{first} {first} {last - first + 1}"] * 2)
            theirs.send(b"held")
        except OSError as error:
            theirs.send(str(error).encode())
        finally:
            os._exit(0)
    theirs.close()

    def map_ids() -> None:
        said = b""
        with ours, contextlib.suppress(ConnectionError):
            ours.send(b"!")
            said = ours.recv(4096)
        os.waitpid(pid, 0)
        if not said:
            os._exit(1)  # the helper was killed, which is no missing layer: exit silently
        if said != b"held":
            raise OSError(0, said.decode(errors="replace"))

    return map_ids


def _set_user(uid: int) -> None:
    # Supplementary groups first, then the group, then the user: each step needs the rights that the next
    # one drops.
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # Changing the uid makes the process non-dumpable, and then its own id maps belong to root.
    linux.prctl(linux.PR_SET_DUMPABLE, 1)


def _build_root(config: Mapping[str, Any]) -> None:
    """Build a tmpfs root with read-only views of the files that a box needs, and pivot into it."""
    linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    moved = config["moved"]
    # Taken before anything is mounted that could hide them.
    trees = _clone_views(config["readable"], moved)
    files, large = _split_files(list_files(config), as_other=config["uid"] is not None)
    new_root = next(path for path in NEW_ROOTS if Path(path).is_dir())
    linux.mount("tmpfs", new_root, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, ROOT_OPTIONS)
    for folder in ("w", "tmp", "proc", "etc", "dev/shm", DATA[1:]):
        Path(new_root, folder).mkdir(parents=True, exist_ok=True)
    for path, tree in trees:
        attach_view(new_root + path, tree)
    for masked in config["masked"]:
        for path in {masked, find_new_path(masked, moved)}:
            _mask_folder(new_root + path)
    Path(new_root, "etc/passwd").write_text(PASSWD)
    write_contents(new_root, files)
    for path, tree in large:
        attach_view(new_root + path, tree)
    lay_out_models(new_root, DATA)
    _mount_scratch(f"{new_root}/w", "size=8m,nr_inodes=512", config["uid"])
    linux.pivot_root(new_root)
    # At last the root itself becomes read-only.
    flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("none", "/", None, flags)


def list_files(config: Mapping[str, Any]) -> list[tuple[str, Path]]:
    """List the environment's own files: path in a box → the file.

    If two have the same path, the later one counts.
    """
    files: dict[str, Path] = {}
    for name, path in config["files"]:
        if (folder := Path(path)).is_dir():
            files |= {f"{DATA}/{name}/{inner}": file for inner, file in list_files_below(folder)}
        else:
            files[f"{DATA}/{name}"] = folder
    return list(files.items())


def list_top_names(config: Mapping[str, Any]) -> list[str]:
    """List the names in the working directory itself: files, and the topmost folders of nested files."""
    return sorted({name.partition("/")[0] for name, _ in config["files"]})


def write_contents(root: str, files: Sequence[tuple[str, Path | bytes]]) -> None:
    """Copy the files below a folder, readable for every user and writable for none."""
    for path, file in files:
        target = Path(root + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as copy:
            if isinstance(file, bytes):
                copy.write(file)
            else:
                with file.open("rb") as source:
                    while part := source.read(_PART):
                        copy.write(part)
        target.chmod(0o444)


def _split_files(
    files: Sequence[tuple[str, Path]], *, as_other: bool
) -> tuple[list[tuple[str, Path | bytes]], list[tuple[str, int | str]]]:
    """Split files into those copied into memory, and views of the large ones, which take no memory.

    All are opened before the new root covers their folders.

    Args:
        files: path in a box → the file.
        as_other: whether boxes have their own user, who has only the rights of others on a view.
    """
    copied: list[tuple[str, Path | bytes]] = []
    views: list[tuple[str, int | str]] = []
    for path, file in files:
        status = file.stat()
        # A file that is not readable for others could not be read through a view.
        if status.st_size < LARGE or (as_other and not status.st_mode & stat.S_IROTH):
            copied.append((path, file.read_bytes()))
        else:
            views.append((path, linux.clone_mount(str(file))))
    return copied, views


def _clone_views(readable: Sequence[str], moved: Mapping[str, str]) -> list[tuple[str, int | str]]:
    """Clone detached read-only views of the paths (the link text for symbolic links), shortest first.

    The zygote sees moved paths at both places, because modules that it has already imported may hold their
    old paths; in a box the scratch space covers the old ones.
    """
    views: list[tuple[str, int | str]] = []
    for path in sorted(set(readable), key=lambda path: (path.count("/"), path)):
        if path in moved and Path(path).exists():  # a link is followed, because its text may be relative
            views.append((moved[path], linux.clone_mount(path, execute=True)))
        if Path(path).is_symlink():
            views.append((path, str(Path(path).readlink())))
        elif Path(path).exists():
            views.append((path, linux.clone_mount(path, execute=True)))
    devices = [f"/dev/{name}" for name in DEVICES]
    # Read-only applies to the nodes themselves (their times are the machine's); data passes all the same.
    views += [(path, linux.clone_mount(path, devices=True)) for path in devices]
    # torch and numpy read the number and kind of processors; without them torch cannot be imported.
    views += [(path, linux.clone_mount(path)) for path in ("/proc/cpuinfo", "/sys/devices/system/cpu")]
    return views


def attach_view(target: str, tree: int | str) -> None:
    """Attach a view from `_clone_views` at its path, which is created if necessary."""
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(tree, str):
        path.symlink_to(tree)
        return
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        path.mkdir(exist_ok=True)
    else:
        path.touch()
    linux.attach_mount(tree, target)


def _mask_folder(path: str) -> None:
    """Hide a folder below a view, if it exists: student code must not see the grader's own code."""
    if Path(path).is_dir():
        flags = linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
        linux.mount("tmpfs", path, "tmpfs", flags, "size=0,nr_inodes=1,mode=755")


def _mount_scratch(path: str, size: str, uid: int | None = None) -> None:
    owner = f",uid={uid},gid={uid}" if uid is not None and os.geteuid() == 0 else ""
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("tmpfs", path, "tmpfs", flags, f"{size},mode=700{owner}")


def plan_moves(readable: Sequence[str]) -> dict[str, str]:
    """Return the paths that a box's scratch space would cover → their paths in a box.

    Left in place they would reveal in every box's /tmp where the checkout is on this machine.
    """
    covered = [path for path in readable if any(Path(path).is_relative_to(folder) for folder in SCRATCH)]
    return {path: f"{INSTALLED}/{number}" for number, path in enumerate(covered)}


def restrict_box(limits: Mapping[str, Any], program: bytes, files: Sequence[str]) -> None:
    """Confine process 1 of a box for good; after this only system calls of the table remain.

    Args:
        limits: the fields of `records.Limits`, and ``address_space`` (bytes) if no cgroup bounds memory.
        program: the compiled system call filter.
        files: names in /data that appear in the working directory, folders with all their contents.
    """
    linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    _mount_scratch("/w", f"size={limits['scratch_mb']}m,nr_inodes={limits['scratch_files']}")
    for folder, target in (("tmp", "/tmp"), ("shm", "/dev/shm"), ("w", "/w")):
        # One tmpfs under three names, so that one size bounds them all. /w comes last and hides the rest.
        Path("/w", folder).mkdir()
        linux.mount(f"/w/{folder}", target, None, linux.MS_BIND)
    # Otherwise student code would see the name of the machine.
    linux.set_host_name(b"sandbox")
    os.chdir("/w")
    for name in files:
        Path("/w", name).symlink_to(f"{DATA}/{name}")
    limit_resources(limits)
    linux.drop_capabilities()
    linux.forbid_new_privileges()
    if linux.get_landlock_version():
        linux.restrict_files(("/",), SCRATCH, tuple(f"/dev/{name}" for name in DEVICES))
    # Last: the filter refuses the calls that the steps above need.
    linux.load_filter(program)


def limit_resources(limits: Mapping[str, Any]) -> None:
    """Set the resource limits of one process; see `restrict_box`."""
    values = {
        resource.RLIMIT_CPU: limits["processor_seconds"],
        resource.RLIMIT_NOFILE: limits["descriptors"],
        # Not enforced for uid 0 of the machine, which is why no box ever runs as it.
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_FSIZE: limits["scratch_mb"] << 20,
        resource.RLIMIT_STACK: 8 << 20,
        # core(5): the kernel may hand a core dump to a program of the machine, outside of the box.
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        # Messages in POSIX queues are memory of the kernel that belongs to no process.
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: PENDING_SIGNALS,
    }
    if limits.get("address_space"):
        # Not RLIMIT_DATA, which does not count shared mappings.
        values[resource.RLIMIT_AS] = limits["address_space"]
    for name, value in values.items():
        resource.setrlimit(name, (value, value))


# ---------------------------------------------------------------- moved files
# Values that a module has computed from its old path, such as a folder of data, are not changed; they are
# used while the zygote starts, which sees both places.


def find_new_path(path: str, moved: Mapping[str, str]) -> str:
    """Return the present path of a file.

    Args:
        path: the old path.
        moved: folder or file → its present path; none is below another.
    """
    for before, now in moved.items():
        if path == before or path.startswith(f"{before}/"):
            return now + path[len(before) :]
    return path


def update_import_paths(moved: Mapping[str, str]) -> None:
    """Make this process import from the present paths, also for packages that are already imported.

    Args:
        moved: see `find_new_path`.
    """
    if not moved:
        return
    sys.path[:] = [find_new_path(path, moved) for path in sys.path]
    # The cache holds finders for the old paths.
    sys.path_importer_cache.clear()
    for module in [*sys.modules.values()]:
        if isinstance(module, ModuleType):
            _update_module(module, moved)


def _update_module(module: ModuleType, moved: Mapping[str, str]) -> None:
    _update_attributes(module, ("__file__", "__cached__"), moved)
    search = vars(module).get("__path__")
    if isinstance(search, list):
        search[:] = _update_paths(search, moved)
    spec = vars(module).get("__spec__")
    if spec is not None:
        _update_attributes(spec, ("origin", "_cached"), moved)
        if isinstance(spec.submodule_search_locations, list):
            spec.submodule_search_locations[:] = _update_paths(spec.submodule_search_locations, moved)
        _update_attributes(spec.loader, ("path",), moved)


def _update_attributes(target: object, names: Sequence[str], moved: Mapping[str, str]) -> None:
    for name in names:
        attributes = getattr(target, "__dict__", {})  # some modules of torch refuse assignment
        value = attributes.get(name)
        if isinstance(value, str):
            attributes[name] = find_new_path(value, moved)


def _update_paths(paths: Sequence[Any], moved: Mapping[str, str]) -> list[Any]:
    """Replace old paths. A spec and its module may share one list: the second pass changes nothing."""
    return [find_new_path(path, moved) if isinstance(path, str) else path for path in paths]


# ---------------------------------------------------------------- models
# A folder with a configuration or a tokenizer is found by its path and by its own name, as if it came from
# the hub: `AutoTokenizer.from_pretrained("tiny-gpt2")`. Nothing is ever downloaded: there is no network.


OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "TRANSFORMERS_OFFLINE": "1",
    "WANDB_MODE": "offline",
}
"""Variables that keep libraries from trying, and from retrying."""


def build_offline_environment(hub: str) -> dict[str, str]:
    """Build the environment variables of a box; libraries look for downloads in ``hub``."""
    # Clients read the machine's certificates when they are created, and a box may not.
    return {**OFFLINE, "HF_HUB_CACHE": hub, "SSL_CERT_DIR": hub}


_SIGNS = ("config.json", "tokenizer.json", "tokenizer_config.json")
_REVISION = "0" * 40


def lay_out_models(root: str, data: str, *, seen_below: str = "") -> None:
    """Make the folder of downloads below a root, from the models in its data folder.

    Args:
        root: of the files that a box sees.
        data: the folder of the assignment's files, below it.
        seen_below: the path of the root in a box; empty: it is the box's own root.
    """
    hub = Path(root + HUB)
    hub.mkdir(exist_ok=True)
    for folder in sorted({path.parent for sign in _SIGNS for path in Path(root + data).rglob(sign)}):
        path = folder.relative_to(root + data).as_posix()
        for name in {path, folder.name} - {"."}:
            model_folder = hub / f"models--{name.replace('/', '--')}"
            if model_folder.exists():
                continue
            # The layout of the library's cache: refs/main names a revision, and snapshots holds it.
            (model_folder / "refs").mkdir(parents=True)
            (model_folder / "refs/main").write_text(_REVISION)
            (model_folder / "snapshots").mkdir()
            (model_folder / "snapshots" / _REVISION).symlink_to(f"{seen_below}{data}/{path}")


# ---------------------------------------------------------------- no isolation


class BareConfinement:
    """How the level `none` confines: a process in its own folder, with resource limits and no protection."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._folder: str = config["folder"]
        self._zygote = os.getpid()
        self._box_folders: dict[int, Path] = {}
        self._numbers = itertools.count()
        self.home = f"{self._folder}/zygote"
        self.hub = self._folder + HUB
        self.proc = open_proc()

    def isolate_zygote(self, control: socket.socket) -> None:
        """Write the environment's files to the folder."""
        del control
        Path(self.home).mkdir()
        write_contents(self._folder, list_files(self._config))
        lay_out_models(self._folder, DATA, seen_below=self._folder)
        self._config["files"] = list_top_names(self._config)

    def fork_box(self, request: dict[str, Any], status: socket.socket) -> tuple[int, int]:
        """Fork the first process of a box; see `Jail.fork_box`."""
        folder = Path(self._folder, "boxes", str(next(self._numbers)))
        request["folder"] = str(folder)
        pid = os.fork()
        if pid == 0:
            return 0, -1
        self._box_folders[pid] = folder
        pidfd = os.pidfd_open(pid)
        socket.send_fds(status, [b"box"], [pidfd])
        return pid, pidfd

    def begin_box(self, request: dict[str, Any]) -> None:
        """Die with the zygote."""
        del request
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        # The zygote may have died before prctl: then the signal would never come.
        if os.getppid() != self._zygote:
            raise ProcessLookupError("the zygote is gone")

    def isolate_box(self, request: dict[str, Any]) -> None:
        """Move into the box's own folder and limit resources."""
        folder = Path(request["folder"])
        work, temporary = folder / "w", folder / "tmp"
        for path in (work, temporary):
            path.mkdir(mode=0o700, parents=True)
        os.chdir(work)
        for name in self._config["files"]:
            Path(name).symlink_to(f"{self._folder}{DATA}/{name}")
        os.environ.update(
            HOME=str(work),
            IPYTHONDIR=f"{work}/.ipython",
            MPLCONFIGDIR=f"{work}/.matplotlib",
            TMPDIR=str(temporary),
        )
        if "tempfile" in sys.modules:
            vars(sys.modules["tempfile"])["tempdir"] = None  # cached while the zygote imported modules
        # The kernel would count every process of the user, not only those of the box.
        processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        limit_resources({**request["limits"], "processes": processes})

    def end_boxes(self) -> None:
        """End every box and remove the folder: a killed broker cannot do it."""
        for pid in list(self._box_folders):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.collect_box(pid)
        shutil.rmtree(self._folder, ignore_errors=True)

    def collect_box(self, pid: int) -> dict[str, Any]:
        """End the process group of a box that has ended, and remove its folder."""
        # Before waiting: while its leader is a zombie, the id of the group is not assigned to another one.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        report = wait_for(pid)
        shutil.rmtree(self._box_folders.pop(pid), ignore_errors=True)
        return report
