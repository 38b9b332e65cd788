"""Checks the rules that no compiler checks, and prints the include graph of src/.

    python3 tools/tidy/tidy.py [--root DIR] [--quiet]

rules.txt says which folder may include which and where third-party headers may appear;
exceptions.txt lists what is allowed to break a rule, each with its reason. Ends with status 1 when
a rule is broken. Needs only the Python standard library.
"""

import argparse
import ast
import fnmatch
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import cpp_scan

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
LINE_COLUMNS_MAX = 100
TRACKED_BYTES_MAX = 30 << 20

CPP_ROOTS = ("src", "include", "tests", "bench", "fuzz")
# These may use every folder.
FREE_ROOTS = ("tests", "bench", "fuzz")
DATA = ("models/*", "tests/golden/*", "fuzz/corpus/*", "LICENSE")
CPP_SUFFIXES = (".h", ".inl", ".cpp")
CODE_SUFFIXES = CPP_SUFFIXES + (".py",)
TEXT_SUFFIXES = CODE_SUFFIXES + (".md", ".txt", ".cmake", ".sh", ".json", ".yml", ".yaml", "")

MARKS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w./}\-)>*])/(?:work|root|tmp|home|Users)(?:/|\b)")
# Names of documents that are not part of the tree.
ELSEWHERE = re.compile(r"\b(?:DES" r"IGN(?:\.md)?,? section|DES" r"IGN\.md|field-" r"cases\.md)")
TEST_CASE = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP)\s*\(")
# Headers of the language itself have neither a folder nor an ending.
LANGUAGE_HEADER = re.compile(r"^[a-z_]+$")


@dataclass(frozen=True)
class Problem:
    rule: str
    path: str
    line: int
    message: str
    subject: str = ""  # what an exception names beside the path: a function

    def __str__(self):
        at = f"{self.path}:{self.line}" if self.line else self.path
        return f"{at}: [{self.rule}] {self.message}"


class Rules:
    """rules.txt: `folder NAME: NAMES` from the lowest to the highest, `header NAMES: FOLDERS`."""

    def __init__(self, text):
        self.allowed, self.fences, self.errors = {}, [], []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            kind, _, rest = line.partition(" ")
            left, colon, right = rest.partition(":")
            if kind == "folder" and colon:
                self.add_folder(left.strip(), right.split(), number)
            elif kind == "header" and colon:
                self.fences.append((left.split(), right.split()))
            else:
                self.error(number, f"cannot read '{line}'")

    def error(self, number, message):
        self.errors.append(Problem("rules", "tools/tidy/rules.txt", number, message))

    def add_folder(self, name, uses, number):
        for use in uses:
            if use not in self.allowed:
                self.error(number, f"{name} may not use {use}, which is not below it")
        self.allowed[name] = set(uses)

    def fence(self, target):
        """Folders that may include <target>; None when no line names it."""
        for patterns, folders in self.fences:
            for pattern in patterns:
                if target == pattern or (pattern.endswith("/") and target.startswith(pattern)):
                    return folders
        return None


class Exceptions:
    """exceptions.txt: `RULE PATH[:FUNCTION] REASON`, a path may be a pattern."""

    def __init__(self, text):
        self.entries, self.errors = [], []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = line.split(None, 2)
            if len(parts) < 3:
                message = "needs a rule, a path and a reason"
                self.errors.append(
                    Problem("exceptions", "tools/tidy/exceptions.txt", number, message)
                )
                continue
            path, _, subject = parts[1].partition(":")
            self.entries.append((parts[0], path, subject, number))
        self.used = set()

    def cover(self, problem):
        for rule, path, subject, number in self.entries:
            same = rule == problem.rule and fnmatch.fnmatch(problem.path, path)
            if same and subject in ("", problem.subject):
                self.used.add(number)
                return True
        return False

    def unused(self):
        for rule, path, _, number in self.entries:
            if number not in self.used:
                message = f"nothing at {path} breaks '{rule}' any more: remove the line"
                yield Problem("exceptions", "tools/tidy/exceptions.txt", number, message)


class Tree:
    """The files of a repository (tracked and new, not ignored) and the text of its code."""

    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(p for p in self.list_paths() if (self.root / p).is_file())
        self.texts = {p: self.read(p) for p in self.paths if self.is_text(p)}

    def list_paths(self):
        try:
            command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
            listed = subprocess.run(command, cwd=self.root, capture_output=True, check=True)
            return [p for p in listed.stdout.decode().split("\0") if p]
        except (OSError, subprocess.CalledProcessError):
            return list(self.walk())

    def walk(self):
        """What git would list, where there is no git: everything but hidden and build folders."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f[0] != "." and f not in ("build", "__pycache__")]
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.root)

    @staticmethod
    def is_text(path):
        # A maker beside the fixtures is code like any other.
        if any(fnmatch.fnmatch(path, data) for data in DATA) and not path.endswith(CODE_SUFFIXES):
            return False
        return Path(path).suffix in TEXT_SUFFIXES

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def cpp(self):
        for path, text in self.texts.items():
            if path.split("/")[0] in CPP_ROOTS and path.endswith(CPP_SUFFIXES):
                yield path, text


def folder_of(path):
    """src/store/lru.h -> store; files outside src/ belong to the root folder they are in."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def resolve(tree, path, target):
    """The file that `#include "target"` means, written from src/, include/ or the root."""
    for candidate in ("src/" + target, "include/" + target, target):
        if candidate in tree.texts:
            return candidate
    return None


class Graph:
    """Include edges between files and between folders."""

    def __init__(self, tree, rules):
        self.problems = []
        self.files = defaultdict(list)  # path -> [(line, included path)]
        self.folders = Counter()  # (from, to) -> number of includes
        self.rules = rules
        for path, text in tree.cpp():
            for include in cpp_scan.includes(text):
                self.add(tree, path, include)
        self.find_cycles(self.files_plain(), "files")
        self.find_cycles(self.folders_plain(), "folders")

    def add(self, tree, path, include):
        if not include.quoted:
            self.check_fence(path, include)
            return
        target = resolve(tree, path, include.target)
        if target is None:
            message = f'"{include.target}" is no file below src/, include/ or the root'
            self.problems.append(Problem("include", path, include.line, message))
            return
        self.files[path].append((include.line, target))
        source, used = folder_of(path), folder_of(target)
        if source == used:
            return
        self.folders[source, used] += 1
        if source in FREE_ROOTS:
            return
        if used not in self.rules.allowed.get(source, ()):
            may = " ".join(sorted(self.rules.allowed.get(source, ()))) or "nothing"
            message = f'{source} may not include {used} ("{include.target}"); it may use: {may}'
            self.problems.append(Problem("edge", path, include.line, message))

    def check_fence(self, path, include):
        if LANGUAGE_HEADER.match(include.target):
            return
        folders = self.rules.fence(include.target)
        if folders is None:
            message = f"<{include.target}> is in no `header` line of tools/tidy/rules.txt"
        elif folders == ["*"] or folder_of(path) in folders:
            return
        elif "tests" in folders and path.endswith("_test.cpp"):
            return
        else:
            message = f"<{include.target}> may be included only in: {' '.join(folders)}"
        self.problems.append(Problem("fence", path, include.line, message))

    def files_plain(self):
        return {path: {target for _, target in edges} for path, edges in self.files.items()}

    def folders_plain(self):
        plain = defaultdict(set)
        for source, used in self.folders:
            plain[source].add(used)
        return plain

    def find_cycles(self, edges, what):
        """One problem for each cycle that a depth-first walk closes."""
        state = {}

        def visit(node, trail):
            state[node] = "open"
            for target in sorted(edges.get(node, ())):
                if state.get(target) == "open":
                    cycle = trail[trail.index(target) :] + [target]
                    message = f"cycle between {what}: {' -> '.join(cycle)}"
                    self.problems.append(Problem("cycle", cycle[0], 0, message))
                elif target not in state:
                    visit(target, trail + [target])
            state[node] = "done"

        for node in sorted(edges):
            if node not in state:
                visit(node, [node])

    def print_edges(self, out):
        order = list(self.rules.allowed) + list(FREE_ROOTS)
        rank = {name: i for i, name in enumerate(order)}
        key = lambda edge: tuple(rank.get(name, len(order)) for name in edge)
        for source, used in sorted(self.folders, key=key):
            count = self.folders[source, used]
            print(f"{source} -> {used} ({count} include{'s' if count > 1 else ''})", file=out)


def check_headers(tree, graph):
    """Every header has #pragma once and is used by more than its own .cpp and its own test."""
    users = defaultdict(set)
    for path, edges in graph.files.items():
        for _, target in edges:
            users[target].add(path)
    for path, text in tree.cpp():
        if path.endswith(".cpp"):
            continue
        if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
            yield Problem("pragma-once", path, 1, "a header starts with #pragma once")
        stem = path.rpartition(".")[0]
        if not users[path] - {stem + ".cpp", stem + "_test.cpp"}:
            message = "nobody includes this header but its own .cpp and its own test"
            yield Problem("unused-header", path, 0, message)


def check_folders(tree, rules):
    for path, _ in tree.cpp():
        name = folder_of(path)
        if name not in rules.allowed and name not in FREE_ROOTS:
            yield Problem("rules", path, 0, f"folder {name} is not in tools/tidy/rules.txt")


def check_cmake(tree, rules):
    """An edge of rules.txt is of use only when CMakeLists.txt links it."""
    text = tree.texts.get("CMakeLists.txt", "")
    uses = {m[1]: m[2].split() for m in re.finditer(r"colibri_library\((\w+) USES ([^)]*)\)", text)}
    for name, allowed in rules.allowed.items():
        reached, todo = set(), list(uses.get(name, ()))
        while todo:
            use = todo.pop()
            if use not in reached:
                reached.add(use)
                todo += uses.get(use, ())
        for missing in sorted(allowed - reached) if name in uses else ():
            if missing in uses:
                message = f"rules.txt lets {name} use {missing}, which it does not link"
                yield Problem("cmake", "CMakeLists.txt", 0, message)


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield cpp_scan.Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)


def check_sizes(tree):
    for path, text in tree.texts.items():
        if not path.endswith(CODE_SUFFIXES):
            continue
        lines = text.splitlines()
        if len(lines) > FILE_LINES_MAX:
            yield Problem("file-length", path, 0, f"{len(lines)} lines, at most {FILE_LINES_MAX}")
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_COLUMNS_MAX:
                message = f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"
                yield Problem("line-length", path, number, message)
        found = python_functions(text) if path.endswith(".py") else cpp_scan.functions(text)
        for function in found:
            if function.lines > FUNCTION_LINES_MAX:
                message = f"{function.name}: {function.lines} lines, at most {FUNCTION_LINES_MAX}"
                yield Problem("function-length", path, function.line, message, function.name)


def check_words(tree):
    for path, text in tree.texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            mark, machine = MARKS.search(line), MACHINE_PATH.search(line)
            elsewhere = ELSEWHERE.search(line)
            if mark:
                message = f"'{mark[0]}': finish it, or file it where work is planned"
                yield Problem("mark", path, number, message)
            if machine:
                message = f"'{machine[0]}' is a path of one machine"
                yield Problem("machine-path", path, number, message)
            if elsewhere:
                message = f"'{elsewhere[0]}' is no document of this repository"
                yield Problem("elsewhere", path, number, message)


def check_bytes(tree):
    for path in tree.paths:
        size = (tree.root / path).stat().st_size
        if size > TRACKED_BYTES_MAX:
            message = f"{size / (1 << 20):.1f} MiB, at most {TRACKED_BYTES_MAX >> 20}"
            yield Problem("file-bytes", path, 0, message)


def check_test_comments(tree):
    """Tests whose purpose is not stated: a comment with Goal and Method before or in the body."""
    for path, text in tree.cpp():
        lines = text.splitlines()
        for at, line in enumerate(lines):
            if not TEST_CASE.match(line):
                continue
            before = at
            while before > 0 and lines[before - 1].lstrip().startswith("//"):
                before -= 1
            near = "\n".join(lines[before : at + 12])
            if "Goal:" not in near or "Method:" not in near:
                yield Problem("test-comment", path, at + 1, "the test states no Goal and Method")


def run(root, out=sys.stdout, quiet=False):
    """Prints edges, problems and warnings; returns the list of problems."""
    tree = Tree(root)
    rules = Rules(tree.texts.get("tools/tidy/rules.txt", ""))
    exceptions = Exceptions(tree.texts.get("tools/tidy/exceptions.txt", ""))
    graph = Graph(tree, rules)
    found = rules.errors + exceptions.errors + graph.problems
    for check in (check_sizes, check_words, check_bytes):
        found += check(tree)
    found += check_headers(tree, graph)
    found += check_folders(tree, rules)
    found += check_cmake(tree, rules)
    problems = [p for p in found if not exceptions.cover(p)]
    problems += exceptions.unused()
    warnings = list(check_test_comments(tree))
    if not quiet:
        graph.print_edges(out)
    for problem in problems:
        print(problem, file=out)
    for warning in warnings:
        print(f"warning: {warning}", file=out)
    print(
        f"tidy: {len(tree.paths)} files, {len(graph.folders)} edges between folders,"
        f" {len(problems)} problems, {len(warnings)} warnings",
        file=out,
    )
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--quiet", action="store_true", help="do not print the include graph")
    arguments = parser.parse_args()
    return 1 if run(arguments.root, quiet=arguments.quiet) else 0


if __name__ == "__main__":
    sys.exit(main())
