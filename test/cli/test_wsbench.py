# SPDX-License-Identifier: MIT
"""wsbench as its users see it: output, JSON, exit status.

test_wsbench.py WSBENCH [TEST...]
"""
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest
import zlib

WSBENCH = ""
WORKLOADS = ["inject", "fib", "spawn_tree", "roundtrip", "many_small",
             "few_large", "uneven", "idle", "memory", "files"]
ONCE = {"idle", "memory"}
KEYS = {"impl", "workload", "threads", "n", "work", "producers", "gap_us",
        "api", "tasks", "seconds", "extra"}
EVERY_EXTRA = {"cpu_s", "steals_l3", "steals_node", "steals_far",
               "forks_stolen", "parks"}
EXTRA = {
    "fib": {"serial_s"},
    "roundtrip": {"p50_ns", "p99_ns", "p999_ns", "max_ns"},
    "idle": {"idle_cpu_s", "idle_vcsw", "idle_ivcsw"},
    "memory": {"bytes_per_task", "submit_s", "drain_s", "rss_after_bytes"},
    "files": {"serial_s", "files", "directories", "errors", "bytes", "words",
              "crc_sum", "files_per_s", "mb_per_s"},
}


ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("WSRT_TOPOLOGY", "WSRT_WORKERS")}


def wsbench(*args, **env):
    return subprocess.run([WSBENCH, *args], env={**ENVIRONMENT, **env},
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=60)


class Case(unittest.TestCase):
    def succeed(self, *args, **env):
        done = wsbench(*args, **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def lines(self, *args, **env):
        done = self.succeed("run", *args, "--json", "-", **env)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def refuse(self, *args, **env):
        done = wsbench(*args, **env)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr


class Commands(Case):
    def test_help_names_commands_and_options(self):
        text = self.succeed("--help").stdout
        for word in ["list", "topology", "run", "--json", "--gap-us"]:
            self.assertIn(word, text)

    def test_version_is_printed(self):
        self.assertRegex(self.succeed("--version").stdout,
                         r"^wsbench \d+\.\d+\.\d+")

    def test_list_names_every_workload(self):
        rows = self.succeed("list").stdout.splitlines()[1:]
        self.assertEqual([row.split()[0] for row in rows], WORKLOADS)

    def test_topology_shows_real_machine(self):
        text = self.succeed("topology").stdout
        self.assertRegex(text, r"machine +real")
        self.assertRegex(text, r"workers +[1-9]")
        cpus = sum(len(cores.split()) for cores in
                   re.findall(r"cores (.*)", text))
        self.assertEqual(cpus, len(os.sched_getaffinity(0)))

    def test_topology_shows_synthetic_machine(self):
        text = self.succeed("topology", WSRT_TOPOLOGY="node:2 core:2").stdout
        self.assertRegex(text, r"machine +synthetic")
        self.assertRegex(text, r"nodes +2\n")
        self.assertRegex(text, r"CPUs +4\n")
        self.assertEqual(text.count("cores ["), 2)
        self.assertRegex(text, r"\n +0 +10 +\d+\n +1 +\d+ +10\n")

    def test_topology_groups_siblings(self):
        text = self.succeed("topology", WSRT_TOPOLOGY="core:2 thread:2").stdout
        self.assertRegex(text, r"cores \[\d+ \d+\] \[\d+ \d+\]\n")


class BadUse(Case):
    def test_commands_and_words(self):
        for args in [[], ["nonsense"], ["list", "extra"], ["topology", "x"],
                     ["run"], ["run", "nonsense"], ["run", "fib", "nonsense"],
                     ["run", "fib", "/tmp"], ["list", "--n", "1"],
                     ["run", "files", "/", "/"], ["run", "fib", "--nonsense"],
                     ["run", "fib", "--n"],
                     ["run", "fib", "--progress", "perhaps"]]:
            with self.subTest(args=args):
                self.assertNotEqual(self.refuse(*args), "")

    def test_numbers(self):
        huge = "99999999999999999999999"
        for option in ["--threads", "--n", "--producers", "--reps", "--work",
                       "--gap-us"]:
            bad = ["", "x", "1x", "-1", "+1", " 1", "1.5", "0x10", huge]
            if option not in ("--work", "--gap-us"):
                bad.append("0")
            for number in bad:
                with self.subTest(option=option, number=number):
                    text = self.refuse("run", "inject", f"{option}={number}")
                    self.assertIn(option, text)

    def test_numbers_past_what_a_workload_can_do(self):
        for workload in ["fib", "spawn_tree"]:
            with self.subTest(workload=workload):
                text = self.refuse("run", workload, "--n", "1000")
                self.assertIn(workload, text)

    def test_directories(self):
        self.assertIn("/nonexistent",
                      self.refuse("run", "inject", "files", "/nonexistent"))
        self.refuse("run", "files", __file__)

    def test_json_file_that_cannot_be_written(self):
        self.assertIn("/nonexistent/x",
                      self.refuse("run", "fib", "--json", "/nonexistent/x"))

    def test_environment(self):
        self.refuse("topology", WSRT_TOPOLOGY="nonsense")
        self.refuse("run", "fib", WSRT_TOPOLOGY="nonsense")
        done = wsbench("run", "fib", WSRT_WORKERS="nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("WSRT_WORKERS", done.stderr)


class Workloads(Case):
    TINY = ["--n", "4", "--work", "10", "--threads", "2"]

    def check_line(self, line, reps):
        name = line["workload"]
        self.assertLessEqual(KEYS, line.keys())
        self.assertEqual(line["impl"], "wsrt")
        self.assertEqual(line["api"], "fork" if name == "fib" else "submit")
        self.assertEqual(line["threads"], 2)
        self.assertEqual(len(line["seconds"]), reps)
        self.assertTrue(all(s > 0 for s in line["seconds"]))
        self.assertEqual(line["extra"].keys(),
                         EXTRA.get(name, set()) | EVERY_EXTRA)
        for metric, values in line["extra"].items():
            self.assertEqual(len(values), reps, metric)

    def test_every_workload_writes_every_sample(self):
        for name in WORKLOADS:
            with self.subTest(workload=name), \
                    tempfile.TemporaryDirectory() as empty:
                where = [empty] if name == "files" else []
                line, = self.lines(name, *where, *self.TINY, "--reps", "3")
                self.assertEqual(line["workload"], name)
                self.check_line(line, 1 if name in ONCE else 3)

    def test_tasks_are_those_that_ran(self):
        lines = self.lines("inject", "fib", "spawn_tree", "roundtrip",
                           "--n", "5", "--reps", "1")
        self.assertEqual([line["tasks"] for line in lines], [5, 15, 31, 5])

    def test_producers_share_tasks_that_do_not_divide(self):
        line, = self.lines("inject", "--n", "10", "--producers", "4")
        self.assertEqual((line["tasks"], line["producers"]), (10, 4))

    def test_options_without_meaning_are_not_reported(self):
        line, = self.lines("fib", "--n", "5", "--work", "7", "--gap-us", "9")
        self.assertEqual((line["work"], line["gap_us"]), (0, 0))

    def test_gap_pauses_before_each_submit(self):
        line, = self.lines("roundtrip", "--n", "10", "--gap-us", "2000",
                           "--reps", "1")
        self.assertGreater(line["seconds"][0], 10 * 0.002)

    def test_default_threads_follow_topology(self):
        line, = self.lines("fib", "--n", "5", WSRT_TOPOLOGY="node:1 core:3")
        self.assertEqual(line["threads"], 3)
        line, = self.lines("fib", "--n", "5", WSRT_WORKERS="4")
        self.assertEqual(line["threads"], 4)

    def test_one_table_has_all(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.succeed("run", "files", empty, "inject", "fib",
                                "roundtrip", *self.TINY, "--reps", "1")
        rows = [row.split() for row in done.stdout.splitlines()]
        self.assertEqual([row[0] for row in rows],
                         ["workload", "files", "inject", "fib", "roundtrip"])
        for row in rows[1:]:
            self.assertLessEqual(float(row[3]), float(row[4]))
        for row in done.stdout.splitlines():
            self.assertLessEqual(len(row), 100, row)

    def test_json_file_goes_beside_the_table(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "out.json")
            done = self.succeed("run", "inject", "fib", *self.TINY,
                                "--json", path)
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertEqual([line["workload"] for line in lines],
                         ["inject", "fib"])

    def test_full_disk_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([WSBENCH, "list"], stdout=full, text=True,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


class Progress(Case):
    def on_terminal(self, *args):
        """Standard error when it is a terminal."""
        reader, writer = pty.openpty()
        text = b""
        with subprocess.Popen([WSBENCH, "run", "fib", "--n", "5", *args],
                              stdout=subprocess.DEVNULL, stderr=writer):
            os.close(writer)
            try:
                while True:
                    text += os.read(reader, 1024)
            except OSError:  # the other side is closed
                os.close(reader)
        return text.decode()

    def test_shown_on_terminal(self):
        self.assertIn("fib: 1 of 5", self.on_terminal())
        self.assertNotIn("fib:", self.on_terminal("--progress", "never"))

    def test_silent_elsewhere(self):
        done = self.succeed("run", "fib", "inject", "--n", "5")
        self.assertNotRegex(done.stdout + done.stderr, r"[\033\r]| of 5")

    def test_plain_elsewhere_when_asked_for(self):
        done = self.succeed("run", "fib", "--n", "5", "--progress", "always")
        self.assertIn("fib: 5 of 5\n", done.stderr)
        self.assertNotRegex(done.stderr, r"[\033\r]")


class Files(Case):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = place.name
        self.contents = []

    def write(self, path, content):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def scan(self, *args):
        line, = self.lines("files", self.root, "--reps", "2", "--threads", "2",
                           *args)
        figures = {name: set(values) for name, values in line["extra"].items()}
        self.assertEqual(line["dir"], self.root)
        return {name: figures[name].pop() for name in
                ["files", "directories", "errors", "bytes", "words", "crc_sum"]
                if len(figures[name]) == 1}

    def expect(self, contents, directories, errors=0):
        return {
            "files": len(contents),
            "directories": directories,
            "errors": errors,
            "bytes": sum(map(len, contents)),
            "words": sum(len(content.split()) for content in contents),
            "crc_sum": sum(map(zlib.crc32, contents)),
        }

    def test_empty_tree(self):
        self.assertEqual(self.scan(), self.expect([], 1))

    def test_counts_are_those_of_the_tree(self):
        contents = [b"", b"one", b" two words\n", b"\t\n\v\f\r ",
                    b"\0binary \xff\xfe\n\xa0", b"x " * 100000,
                    b"y" * 65535 + b"split" + b" " * 70000 + b"z"]
        for i, content in enumerate(contents):
            self.write(f"{i % 3}/{i}", content)
        self.assertEqual(self.scan(), self.expect(contents, 4))

    def test_deep_path(self):
        depth = 400
        self.write("/".join(["deep-dir"] * depth + ["file"]), b"a b")
        self.assertEqual(self.scan(), self.expect([b"a b"], depth + 1))

    def test_many_directories_need_few_descriptors(self):
        for i in range(300):
            self.write(f"{i}/file", b"word")
        limited = ["sh", "-c", 'ulimit -n 40 && exec "$0" "$@"', WSBENCH,
                   "run", "files", self.root, "--reps", "1", "--json", "-"]
        done = subprocess.run(limited, capture_output=True, check=True)
        extra = json.loads(done.stdout)["extra"]
        self.assertEqual((extra["files"], extra["errors"]), ([300], [0]))

    def test_links_and_devices_are_passed_over(self):
        self.write("real/file", b"a")
        os.symlink("..", os.path.join(self.root, "real/loop"))
        os.symlink("file", os.path.join(self.root, "real/link"))
        os.symlink("nowhere", os.path.join(self.root, "real/broken"))
        os.mkfifo(os.path.join(self.root, "real/fifo"))
        self.assertEqual(self.scan(), self.expect([b"a"], 2))

    def test_root_may_be_a_link(self):
        self.write("real/file", b"a")
        link = os.path.join(self.root, "link")
        os.symlink("real", link)
        self.root = link
        self.assertEqual(self.scan(), self.expect([b"a"], 1))

    def test_what_cannot_be_read_is_counted(self):
        self.write("good", b"a")
        os.chmod(self.write("closed", b"b"), 0)
        os.mkdir(os.path.join(self.root, "shut"), 0)
        os.chmod(self.root, 0o755)
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            done = subprocess.run([WSBENCH, "run", "files", self.root,
                                   "--reps", "1", "--json", "-"],
                                  capture_output=True, check=True, **nobody)
        except PermissionError:
            self.skipTest("only root may run wsbench, and read everything")
        extra = json.loads(done.stdout)["extra"]
        self.assertEqual([extra["files"], extra["directories"],
                          extra["errors"], extra["bytes"]],
                         [[1], [1], [2], [1]])

    def test_wrong_result_fails_and_others_still_run(self):
        changing = "/proc/sys/kernel/random"  # uuid: another at each read
        if not os.path.exists(changing + "/uuid"):
            self.skipTest("no file that changes by itself")
        done = wsbench("run", "files", changing, "fib", "--n", "5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("totals", done.stderr)
        self.assertEqual([row.split()[0] for row in done.stdout.splitlines()],
                         ["workload", "fib"])

    def test_default_directory_is_the_current_one(self):
        self.write("file", b"a")
        done = subprocess.run([WSBENCH, "run", "files", "fib", "--n", "5",
                               "--json", "-"], cwd=self.root, check=True,
                              capture_output=True)
        files, fib = map(json.loads, done.stdout.splitlines())
        self.assertEqual(files["extra"]["files"], [1] * 5)
        self.assertEqual(fib["workload"], "fib")


if __name__ == "__main__":
    WSBENCH = os.path.abspath(sys.argv.pop(1))
    unittest.main()
