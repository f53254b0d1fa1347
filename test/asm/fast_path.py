#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fast_path.py LIBRARY...: disassembles probe.c and fails when an instruction
that orders memory or locks a cache line is on a fast path. Also fails when it
does not find those that probe.c has on purpose. Exit 77: cannot tell here."""
import collections
import re
import shutil
import subprocess
import sys

FAST = {"fast_push", "fast_pop", "fast_fork", "fast_join"}
SLOW = {"slow_add", "slow_store"}
ORDERING = {
    "x86-64": re.compile(r"\block\b|\bxchg\w*\s.*\(|\b[lms]fence\b|cmpxchg"),
    "aarch64": re.compile(r"\b(dmb|dsb|ldax?r|stlx?r|casa?l?|swpa?l?|ldadd\w*)\b"),
}


def functions(text):
    """Name -> instructions; the cold part of a function belongs to it."""
    found, name = collections.defaultdict(list), None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(\w+)(\.cold)?>:", line)
        if head:
            name = head.group(1)
        elif name and "\t" in line:
            found[name].append(line.split("\t", 1)[1].split("#")[0])
    return found


def main(objects):
    if not shutil.which("objdump"):
        print("no objdump")
        return 77
    text = "".join(
        subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True,
                       capture_output=True, text=True).stdout
        for path in objects)
    machine = next((m for m in ORDERING if f"elf64-{m}" in text.replace(
        "littleaarch64", "aarch64")), None)
    if not machine:
        print("no list of instructions for this machine")
        return 77
    code, status = functions(text), 0
    for name in sorted(FAST | SLOW):
        hits = [i for i in code[name] if ORDERING[machine].search(i)]
        good = code[name] and bool(hits) == (name in SLOW)
        print(f"{'ok' if good else 'FAIL'} {name}: "
              f"{len(code[name])} instructions, ordering: {hits or 'none'}")
        if not good:
            status = 1
    return status


sys.exit(main(sys.argv[1:]))
