"""The weakenings: fifty ways to remove one layer of the program."""

from __future__ import annotations

from tests.sabotage.weakening import FILTERS, Edit, Weakening

_JAIL = "autograder/sandbox/inside/jail.py"
_ZYGOTE = "autograder/sandbox/inside/zygote.py"
_OUTSIDE = "autograder/sandbox/outside/namespaces.py"
_BOX = "autograder/sandbox/outside/box.py"
_ASSIGNMENT = "autograder/grading/assignment.py"
_WIRE = "autograder/sandbox/exchange/wire.py"
_VALUES = "autograder/sandbox/exchange/values.py"
_COMPARING = "autograder/checking/comparing.py"
_CLOSE = "np.isclose(numbers, expected, rtol=rtol, atol=atol)"
_RUNNING = "autograder/checking/runner.py"
_SCORING = "autograder/grading/grades.py"
_RESULTS = "autograder/store/gradebook/results.py"
_MARKS = "autograder/store/gradebook/marks.py"

BY_SELFTEST = ("selftest",)
KERNEL = ("selftest", "attacks on the kernel")


def _allowed(calls: str, before: str, after: str) -> Weakening:
    """Move system calls from the refused to the allowed ones."""
    time = '"gettimeofday time clock_gettime'
    moved = (Edit(FILTERS, before, after), Edit(FILTERS, time, time.replace('"', f'"{calls} ')))
    return Weakening("filter", f"allows {calls}", moved, KERNEL)


FILTER = (
    _allowed("bpf", '"bpf keyctl', '"keyctl'),
    _allowed(
        "io_uring_setup io_uring_enter io_uring_register",
        "request_key io_uring_setup io_uring_enter io_uring_register ",
        "request_key ",
    ),
    _allowed("keyctl add_key request_key", '"bpf keyctl add_key request_key ', '"bpf '),
    _allowed("userfaultfd", " userfaultfd ", " "),
    _allowed("perf_event_open", '"perf_event_open modify_ldt', '"modify_ldt'),
    _allowed("ptrace process_vm_readv", '"ptrace process_vm_readv process_vm_writev', '"process_vm_writev'),
    _allowed("execve", '"execve execveat"', '"execveat"'),
    _allowed("memfd_create", '"memfd_create memfd_secret', '"memfd_secret'),
    _allowed("personality", "modify_ldt personality uselib", "modify_ldt uselib"),
    Weakening(
        "filter",
        "allows new namespaces by clone",
        (Edit(FILTERS, "_NAMESPACE_FLAGS = 0x7E02_0000", "_NAMESPACE_FLAGS = 0"),),
        KERNEL,
    ),
    Weakening(
        "filter",
        "allows sockets of every family",
        (
            Edit(
                FILTERS,
                '_add(rules, allow, "socket", argument(0, libseccomp.EQ, _AF_UNIX))',
                '_add(rules, allow, "socket")',
            ),
            Edit(
                FILTERS,
                'libseccomp.ERRNO(errno.EACCES), "socket", argument(0, libseccomp.NE, _AF_UNIX))',
                'allow, "socket")',
            ),
        ),
        ("selftest", "attacks on the network"),
    ),
    Weakening(
        "filter",
        "is not loaded at all",
        (Edit(_JAIL, "\n    linux.load_filter(program)", "\n    del program"),),
        KERNEL,
    ),
)

MOUNTS = (
    Weakening(
        "mounts",
        "the reference is mounted into students' boxes",
        (
            Edit(
                _ASSIGNMENT,
                "files=(*self._list_silent_checks(), *self._list_given_files(notebook))",
                "files=(*self._list_silent_checks(), *self._list_given_files(notebook)), "
                'packages=(("reference", self.course.reference),)',
            ),
        ),
        ("attacks on the answers",),
    ),
    Weakening(
        "mounts",
        "the answer key lies beside the notebook",
        (
            Edit(
                _ASSIGNMENT,
                "files=(*self._list_silent_checks(), *",
                'files=(*self._list_silent_checks(), ("key.txt", self.course.sources / self.name / '
                'f"{notebook.name}.ipynb"), *',
            ),
        ),
        ("attacks on the answers",),
    ),
    Weakening(
        "mounts",
        "the machine's own files are in view",
        (
            Edit(
                "autograder/sandbox/runtime.py",
                "candidates = [*SYSTEM_LIBRARIES",
                'candidates = ["/var", *SYSTEM_LIBRARIES',
            ),
        ),
        BY_SELFTEST,
    ),
    Weakening(
        "mounts",
        "the whole of /proc is in view",
        (
            Edit(
                _JAIL,
                'for path in ("/proc/cpuinfo", "/sys/devices/system/cpu")',
                'for path in ("/proc", "/sys/devices/system/cpu")',
            ),
        ),
        BY_SELFTEST,
    ),
    Weakening(
        "mounts",
        "the root can be written",
        (
            Edit(
                _JAIL,
                "linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY |",
                "linux.MS_REMOUNT | linux.MS_BIND |",
            ),
        ),
        BY_SELFTEST,
    ),
    Weakening(
        "mounts",
        "Landlock is not loaded",
        (Edit(_JAIL, "    if linux.get_landlock_version():", "    if False:"),),
        BY_SELFTEST,
    ),
    Weakening(
        "mounts",
        "what was written can be run",
        (
            Edit(
                _JAIL,
                'owner = f",uid={uid},gid={uid}" if uid is not None and os.geteuid() == 0 else ""\n'
                "    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC",
                'owner = f",uid={uid},gid={uid}" if uid is not None and os.geteuid() == 0 else ""\n'
                "    flags = linux.MS_NOSUID | linux.MS_NODEV",
            ),
        ),
        ("attacks on files",),
    ),
)

UID = (
    Weakening(
        "uid",
        "two graders share one user",
        (
            Edit(_OUTSIDE, "begin = secrets.randbelow(LAST_UID - FIRST_UID + 1)", "begin = 0"),
            Edit(_OUTSIDE, "fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
        ),
        ("selftest", "isolation"),
    ),
    Weakening(
        "uid",
        "boxes of one grader share one user",
        (
            Edit(
                _OUTSIDE,
                '"uid": identity.uid if identity else None,',
                '"uid": self._identity.uid if self._identity and identity else None,',
            ),
        ),
        ("selftest", "attacks on neighbours"),
    ),
    Weakening(
        "uid",
        "capabilities are kept",
        (
            Edit(
                _JAIL,
                "limit_resources(limits)\n    linux.drop_capabilities()",
                "limit_resources(limits)",
            ),
        ),
        BY_SELFTEST,
    ),
    Weakening(
        "uid",
        "securebits are not locked",
        (Edit("autograder/sandbox/inside/linux.py", "SECUREBITS = 0x2F", "SECUREBITS = 0x05"),),
        BY_SELFTEST,
    ),
    Weakening(
        "uid",
        "descriptors of the zygote are passed on",
        (Edit(_ZYGOTE, "    linux.close_from(len(high))\n", ""),),
        BY_SELFTEST,
    ),
    Weakening(
        "uid",
        "the grader's environment is passed on",
        (
            Edit(_OUTSIDE, "env=ENVIRONMENT,", "env={**os.environ, **ENVIRONMENT},"),
            Edit(_ZYGOTE, "    os.environ.clear()\n", ""),
        ),
        BY_SELFTEST,
    ),
)


def _unbounded(name: str, file: str, before: str, after: str, *noticed_by: str) -> Weakening:
    return Weakening(
        "limits", f"no bound for {name}", (Edit(file, before, after),), noticed_by or BY_SELFTEST
    )


LIMITS = (
    _unbounded("processes", _OUTSIDE, "processes=limits.processes\n", "processes=4096\n"),
    _unbounded(
        "memory", _OUTSIDE, "memory_bytes=limits.memory_mb << 20", "memory_bytes=limits.memory_mb << 30"
    ),
    _unbounded(
        "processor time in the box",
        _JAIL,
        '        resource.RLIMIT_CPU: limits["processor_seconds"],\n',
        "",
    ),
    _unbounded(
        "descriptors", _JAIL, 'resource.RLIMIT_NOFILE: limits["descriptors"]', "resource.RLIMIT_NOFILE: 1024"
    ),
    _unbounded("bytes on disk", _JAIL, "f\"size={limits['scratch_mb']}m,", 'f"size=1g,'),
    _unbounded("files on disk", _JAIL, "nr_inodes={limits['scratch_files']}", "nr_inodes=1000000"),
    _unbounded("core files", _JAIL, "        resource.RLIMIT_CORE: 0,\n", ""),
    _unbounded(
        "time of a call",
        _BOX,
        "late = any(allowance.is_over() for allowance in self._allowances)",
        "late = False",
    ),
    _unbounded("output", _BOX, "if self._printed_total > FLOOD_FACTOR * keep:", "if False:"),
    _unbounded(
        "bytes of a reply",
        _WIRE,
        "if json_length > max_json or tensor_length > max_tensors:",
        "if json_length > 1 << 40:",
        "frames",
        "attacks on the protocol",
    ),
    _unbounded(
        "time of a submission",
        "autograder/sandbox/session.py",
        "return min(limit - computed, by_the_clock)",
        "return limit + 0 * (computed + by_the_clock)",
        "sessions",
    ),
)

WIRE = (
    Weakening(
        "wire",
        "a reply to another request counts",
        (Edit(_BOX, 'if message.get("id") != request_id:', "if False:"),),
        ("attacks on the protocol",),
    ),
    Weakening(
        "wire",
        "the ids of requests can be guessed",
        (Edit(_BOX, "request_id = secrets.token_hex(16)", 'request_id = "0" * 32'),),
        ("marks of forgeries",),
    ),
    Weakening(
        "wire",
        "constants that are no JSON are taken",
        (Edit(_WIRE, "JSONDecoder(parse_constant=_refuse_constant)", "JSONDecoder()"),),
        ("frames", "attacks on the protocol"),
    ),
    Weakening(
        "wire",
        "unknown tags are taken",
        (Edit(_VALUES, 'raise wire.ProtocolError(f"unknown tag {tag!r}")', 'return Opaque("", "")'),),
        ("frames", "attacks on the protocol"),
    ),
    Weakening(
        "wire",
        "unknown dtypes are taken for floats",
        (
            Edit(
                _WIRE,
                "if not isinstance(name, str) or name not in _DTYPES:\n"
                '        raise MisdescribedError("a tensor has an unknown dtype")',
                "if not isinstance(name, str) or name not in _DTYPES:\n        name = 'F32'",
            ),
        ),
        ("tensors",),
    ),
    Weakening(
        "wire",
        "tensors may lie where they want",
        (
            Edit(
                _WIRE,
                "if begin != end or last - begin != dtype.itemsize * math.prod(shape):",
                "if False:",
            ),
        ),
        ("tensors", "attacks on the protocol"),
    ),
    Weakening(
        "wire",
        "lone surrogates arrive as they are",
        (
            Edit(
                _WIRE, "    if text.isascii():\n        return text\n", "    if text:\n        return text\n"
            ),
        ),
        ("frames", "marks of forgeries"),
    ),
)

JUDGES = (
    Weakening(
        "judges",
        "hidden inputs do not depend on the course's secret",
        (Edit("autograder/questions/base/base.py", "hmac.new(secret, text,", 'hmac.new(b"known", text,'),),
        ("draws",),
    ),
    Weakening(
        "judges",
        "no object of a student's is doubted",
        (Edit("autograder/sandbox/inside/judge.py", '"doubt": doubt[:200]}', '"doubt": ""}'),),
        ("tests of cells",),
    ),
    Weakening(
        "judges",
        "a solution's function stands in where what is printed is recorded",
        (Edit(_RUNNING, "fresh = student.again()", "fresh = student"),),
        ("carried",),
    ),
    Weakening(
        "judges",
        "a mistake that is carried forward costs points",
        (Edit(_RUNNING, "if is_lost and item.carry and", "if not is_lost and item.carry and"),),
        ("carried",),
    ),
    Weakening(
        "judges",
        "NaN is right",
        (Edit(_COMPARING, _CLOSE, _CLOSE.replace("atol=atol", "atol=atol, equal_nan=True")),),
        ("comparing",),
    ),
    Weakening(
        "judges",
        "the right shape is enough",
        (Edit(_COMPARING, "    _compare_arrays(numbers, wanted_numbers, rtol, atol, where)\n", ""),),
        ("comparing", "lies"),
    ),
    Weakening(
        "judges",
        "one number is right where it is broadcast",
        (
            Edit(
                _COMPARING,
                "    if numbers.shape != expected.shape:\n",
                "    if numbers.size != 1 and numbers.shape != expected.shape:\n",
            ),
        ),
        ("comparing", "lies"),
    ),
    Weakening(
        "judges",
        "nearly is right",
        (Edit(_COMPARING, _CLOSE, _CLOSE.replace("atol=atol", "atol=1.0 + atol")),),
        ("comparing", "lies"),
    ),
)

SCORING = (
    Weakening(
        "scoring",
        "more points than there are",
        (Edit(_SCORING, "if not low <= result.points <= high:", "if False:"),),
        ("scoring",),
    ),
    Weakening(
        "scoring",
        "a question below zero",
        (
            Edit(
                _SCORING,
                "deduction = max(item.points, -remaining)",
                "deduction = item.points",
            ),
        ),
        ("scoring",),
    ),
    Weakening(
        "scoring",
        "passed for part of the points",
        (Edit(_SCORING, "if result.status is Status.PASSED and result.points != high:", "if False:"),),
        ("scoring",),
    ),
    Weakening(
        "scoring",
        "items that need others count alone",
        (Edit(_SCORING, "if lacking and result.points > 0:", "if False:"),),
        ("scoring",),
    ),
    Weakening(
        "scoring",
        "points are rounded the wrong way",
        (
            Edit(
                "autograder/rubric/scales.py",
                "Decimal(math.ceil(Fraction(points) * part)) / part",
                "Decimal(math.floor(Fraction(points) * part)) / part",
            ),
        ),
        ("scales",),
    ),
    Weakening(
        "scoring",
        "bonus points help those who fail",
        (
            Edit(
                "autograder/rubric/scales.py",
                'counts = self.bonus == "always" or self.round_points(alone) >= self.passing',
                "counts = True",
            ),
        ),
        ("scales",),
    ),
)

ESCAPING = (
    Weakening(
        "escaping",
        "pages are not escaped",
        (Edit("autograder/pages/feedback/template_rendering.py", "autoescape=True", "autoescape=False"),),
        ("pages", "injections"),
    ),
    Weakening(
        "escaping",
        "addresses of feedback never expire",
        (
            Edit(
                "autograder/web/student.py",
                "load_token(token, FRAME_SALT, FRAME_SECONDS)",
                "load_token(token, FRAME_SALT, None)",
            ),
        ),
        ("students' web pages",),
    ),
    Weakening(
        "escaping",
        "addresses of answers never expire",
        (
            Edit(
                "autograder/web/marking/pages.py",
                "load_token(token, _FRAMES, FRAME_SECONDS)",
                "load_token(token, _FRAMES, None)",
            ),
        ),
        ("marking pages",),
    ),
    Weakening(
        "escaping",
        "pages have no policy",
        (
            Edit(
                "autograder/pages/templates/document.html",
                '<meta http-equiv="Content-Security-Policy" content="{{ policy }}">',
                "",
            ),
        ),
        ("pages", "injections"),
    ),
    Weakening(
        "escaping",
        "terminal codes and hidden characters are shown",
        (
            Edit(
                "autograder/pages/feedback/sanitise.py",
                '_STACKED.sub(r"\\1", _CONTROL.sub(_name_character, text))',
                "text",
            ),
        ),
        ("sanitising", "pages"),
    ),
    Weakening(
        "escaping",
        "formulas are names for spreadsheets",
        (
            Edit(
                "autograder/course/__init__.py",
                '_BEGINS_A_FORMULA = ("=", "+", "-", "@")',
                "_BEGINS_A_FORMULA = ()",
            ),
        ),
        ("courses", "names"),
    ),
    Weakening(
        "escaping",
        "comments are Markdown",
        (
            Edit(
                "autograder/pages/feedback/sanitise.py",
                "shown = to_printable_text(text, most).translate(_LOOKALIKES)",
                "shown = to_printable_text(text, most)",
            ),
        ),
        ("gradebook", "injections"),
    ),
    Weakening(
        "escaping",
        "pictures are what they say they are",
        (Edit("autograder/core/images.py", "    if size is None or not ", "    if size and not "),),
        ("sanitising",),
    ),
)

STORE = (
    Weakening(
        "store",
        "a result is found for another student",
        (
            Edit(
                _RESULTS,
                "sa.bindparam(name) for name in ResultKey.__struct_fields__)",
                'sa.bindparam(name) for name in Key.__struct_fields__ if name != "student")',
            ),
        ),
        ("results",),
    ),
    Weakening(
        "store",
        "a person's mark is lost when it is graded again",
        (
            Edit(
                _MARKS,
                '        "needs_manual_grade": sa.bindparam("pending"),\n',
                '        "needs_manual_grade": sa.bindparam("pending"),\n        "manual_score": None,\n',
            ),
        ),
        ("gradebook",),
    ),
    Weakening(
        "store",
        "rows are there twice",
        (
            Edit(
                _MARKS,
                "new = {pair: str(api.new_uuid()) for pair in wanted if pair not in present}",
                "new = {pair: str(api.new_uuid()) for pair in wanted}",
            ),
        ),
        ("gradebook",),
    ),
    Weakening(
        "store",
        "the mark of a group overwrites a person's mark of one member",
        (
            Edit(
                "autograder/app/class_roll.py",
                "if mark.points is not None and mark.points != decided:",
                "if False:",
            ),
        ),
        ("groups",),
    ),
    Weakening(
        "store",
        "files are written in place",
        (
            Edit(
                "autograder/core/atomic.py",
                "    sweep_partials(path.parent)\n    partial, descriptor",
                "    path.write_bytes(content)\n    path.chmod(mode)\n    return\n    partial, descriptor",
            ),
        ),
        ("files whole",),
    ),
    Weakening(
        "store",
        "a mark of an older submission is kept as decided",
        (Edit(_MARKS, "student in resubmitted or auto != score.auto", "auto != score.auto"),),
        ("gradebook",),
    ),
)

WEAKENINGS: tuple[Weakening, ...] = (
    *FILTER,
    *MOUNTS,
    *UID,
    *LIMITS,
    *WIRE,
    *JUDGES,
    *SCORING,
    *ESCAPING,
    *STORE,
)
