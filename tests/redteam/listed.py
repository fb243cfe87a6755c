"""Every attack known from elsewhere, and ours that cover it.

`PEERS` are the classes of attacks that other graders were measured against. `PROCESS` are attacks on a
sandbox as a process that the first prototype withstood. A test checks that every name here is one of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

Covered = Mapping[str, tuple[str, ...]]

PEERS: Covered = {
    "an object that is always equal": (
        "lies: a tensor that equals, contains and is close to everything",
        "lies: formulas that are texts with methods of their own",
        "override: an object that lies to every question",
    ),
    "a subclass of int, of a tensor": (
        "override: an object that lies to every question",
        "lies: what conversion to plain numbers relies on, replaced",
    ),
    "overriding allclose, builtins, helper modules": ("override: torch's comparisons", "override: builtins"),
    "overriding test frameworks and the grader's runner": ("override: assertions and test frameworks",),
    "overriding IPython's transformers and run_cell_async": ("override: the shell",),
    "leaving early": (
        "outlive: leaving with success",
        "outlive: leaving in the call",
        "outlive: leaving by exit()",
    ),
    "SystemExit and KeyboardInterrupt in a call": (
        "outlive: SystemExit in the call",
        "outlive: KeyboardInterrupt in the call",
    ),
    "reading frames": ("answers: stack frames", "lies: what the frames above hold"),
    "reading memory": (
        "answers: every object in memory",
        "lies: the first tensor of the right shape that lies about in memory",
    ),
    "reading tests, solution and gradebook on disk": (
        "files: reading secrets",
        "shared: a search of all there is for papers and rubrics",
    ),
    "writing the gradebook, a sibling's submission, other files": (
        "files: writing the gradebook and a neighbour's submission",
        "files: writing outside of the scratch space",
    ),
    "start-up files for the next student": (
        "files: start-up files for the next student",
        "shared: notes for the next student",
    ),
    "tests deleted": ("metadata: tests deleted",),
    "points set to 1000": ("metadata: a thousand points each", "metadata: further questions of one's own"),
    "ids renamed, swapped, duplicated": (
        "metadata: every answer under the next one's id",
        "metadata: one id for all cells",
        "metadata: ids that are formulas",
        "content: keys that stand twice",
    ),
    "locked cells edited": ("metadata: locked cells edited",),
    "tests turned to text, flags changed": (
        "metadata: tests turned into text",
        "metadata: answers locked, tests open",
    ),
    "schema 99, metadata stripped": ("metadata: schema 99", "metadata: all metadata stripped"),
    "another kernel, tags that tolerate errors": (
        "metadata: a kernel that is a command",
        "metadata: tags that tolerate errors and skip cells",
    ),
    "cell magics": ("guest: the shell's own magics",),
    "spoofed outputs and more points than exist": (
        "metadata: outputs that claim full marks",
        "override: results printed as if by the grader",
    ),
    "forged results and pickles": ("content: a pickle", "guest: another encoder and decoder of tensors"),
    "atexit, threads, a daemon": (
        "outlive: at the end of the process",
        "outlive: threads that never end",
        "outlive: a daemon of a daemon",
    ),
    "two hundred processes": ("processes: fork bomb", "processes: fork bomb of forks"),
    "endless loops": (
        "time: endless loop that ignores every signal",
        "time: endless loop that swallows interrupts",
        "time: endless loop only in the call",
    ),
    "four gigabytes": ("memory: a tensor of 8 GB", "memory: a growing list"),
    "floods of output": ("output: 200 MB in small pieces", "output: 20 MB to standard error"),
    "a gigabyte on disk": ("disk: filling the disk",),
    "sleeping past the end": ("time: sleeping past the end",),
    "network": ("network: connections to the machine and the world",),
    "huge integers and expressions": (
        "time: a conversion of a huge integer",
        "time: an expression deeper than the parser",
        "injection: formulas that cost time",
    ),
    "deep recursion": ("time: endless recursion", "time: recursion past Python's own limit"),
    "links to the solution, to the gradebook, to nowhere": (
        "folder: a link to the answer key",
        "folder: a link to the gradebook",
        "folder: a link that leads nowhere",
    ),
    "modules beside the notebook": (
        "folder: files that shadow modules",
        "files: modules beside the notebook that shadow the grader's",
    ),
}

PROCESS: Covered = {
    "fork bomb": ("processes: fork bomb",),
    "fork bomb that never returns": ("processes: fork bomb of forks",),
    "thread bomb": ("processes: thread bomb",),
    "tensor of 8 GB": ("memory: a tensor of 8 GB",),
    "growing list": ("memory: a growing list",),
    "shared mapping": ("memory: a shared mapping",),
    "anonymous file": ("memory: an anonymous file",),
    "many anonymous files": ("memory: an anonymous file",),
    "thirty processes of 200 MB": ("memory: many processes, each below the limit",),
    "endless loop, signals ignored": ("time: endless loop that ignores every signal",),
    "ten busy processes": ("processes: many busy processes",),
    "stopping oneself": ("time: a process that stops itself",),
    "blocking in C": ("time: C code that keeps the interpreter's lock",),
    "output flood": ("output: a flood of prints",),
    "output flood from a child": ("output: a flood from another process",),
    "full disk": ("disk: filling the disk",),
    "inodes": ("disk: using up inodes",),
    "writing outside": ("files: writing outside of the scratch space",),
    "descriptors": ("disk: using up descriptors",),
    "network": (
        "network: connections to the machine and the world",
        "network: socket families with a history",
    ),
    "reading secrets": ("files: reading secrets", "answers: the environment"),
    "killing others": ("identity: signals to everybody",),
    "ptrace and others' memory": ("kernel: other processes' memory and descriptors",),
    "privileged system calls": ("kernel: administering the machine", "kernel: the new mount interface"),
    "another architecture's calls": ("kernel: calls of another architecture's numbering",),
    "programs": ("identity: other programs", "kernel: programs without a name"),
    "daemon of a daemon": ("outlive: a daemon of a daemon",),
    "crash": ("outlive: a crash",),
    "abort": ("outlive: abort",),
    "_exit in a call": ("outlive: leaving in the call",),
    "sys.exit": ("outlive: leaving by exception",),
    "random bytes": ("protocol: random bytes instead of a reply",),
    "a frame of a terabyte": ("protocol: a reply of a terabyte",),
    "a frame that trickles": ("protocol: a reply that trickles",),
    "deep JSON": ("protocol: a reply nested without end",),
    "a huge integer in JSON": ("protocol: an integer of a million digits",),
    "tensors that lie about their shape": ("protocol: tensors that lie about their shape",),
    "a flood of tensors": ("protocol: a flood of bytes that looks like a tensor",),
    "replies sent ahead": ("protocol: replies sent ahead",),
    "a reply that comes late": ("protocol: a reply that comes late from a thread",),
    "objects and numbers that are none": ("lies: arrays of objects, dates and records",),
    "a closed pipe": ("protocol: closed pipes",),
    "a child that keeps the pipe": ("protocol: a child that keeps the pipes while its parent leaves",),
    "comparisons patched": ("override: torch's comparisons",),
}
