"""Each rule of tidy.py on a small tree that breaks it, beside a clean one that does not.

python3 tools/tidy/tidy_test.py
"""

import io
import os
import tempfile
import unittest
from pathlib import Path

import cpp_scan
import tidy

RULES = """\
folder base:
folder store: base
folder apps: base store
header fmt/: *
header nlohmann/: apps tests
"""

CLEAN = {
    "tools/tidy/rules.txt": RULES,
    "tools/tidy/exceptions.txt": "# none\n",
    "src/base/error.h": "#pragma once\n#include <string>\nint size();\n",
    "src/base/error.cpp": '#include "base/error.h"\n#include <fmt/format.h>\n',
    "src/store/lru.h": '#pragma once\n#include "base/error.h"\nstruct Lru {};\n',
    "src/apps/main.cpp": '#include <nlohmann/json.hpp>\n#include "store/lru.h"\nint main() {}\n',
    "tests/golden/lru_test.cpp": (
        '#include "store/lru.h"\n// Goal: a.\n// Method: b.\nTEST(Lru, Keeps) {\n}\n'
    ),
}


def check(changes):
    """Problems and printed text for CLEAN with `changes` laid over it; None removes a file."""
    files = {path: text for path, text in {**CLEAN, **changes}.items() if text is not None}
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            target = Path(root) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        out = io.StringIO()
        return tidy.run(root, out), out.getvalue()


class TidyTest(unittest.TestCase):
    def assert_breaks(self, rule, path, changes):
        """`changes` break `rule` in `path`, and nothing else."""
        problems, printed = check(changes)
        self.assertEqual([(rule, path)], [(p.rule, p.path) for p in problems], printed)

    def test_clean_tree_passes_and_prints_its_edges(self):
        problems, printed = check({})
        self.assertEqual([], problems, printed)
        self.assertIn("store -> base (1 include)\napps -> store (1 include)\n", printed)
        self.assertIn("tidy: 7 files, 3 edges between folders, 0 problems, 0 warnings", printed)

    def test_edge_upwards(self):
        text = '#include "base/error.h"\n#include "store/lru.h"\n'
        problems, _ = check({"src/base/error.cpp": text})
        self.assertIn(
            ("edge", "src/base/error.cpp", 2), [(p.rule, p.path, p.line) for p in problems]
        )
        # The same include closes a cycle between the folders, which is reported apart.
        self.assertIn("cycle", [p.rule for p in problems])

    def test_edge_that_no_rule_names(self):
        rules = RULES.replace("folder apps: base store", "folder apps: base")
        self.assert_breaks("edge", "src/apps/main.cpp", {"tools/tidy/rules.txt": rules})

    def test_tests_may_include_everything(self):
        text = '#include "store/lru.h"\n#include "base/error.h"\n#include <nlohmann/json.hpp>\n'
        self.assertEqual([], check({"tests/golden/lru_test.cpp": text})[0])

    def test_cycle_between_files(self):
        files = {
            "src/base/a.h": '#pragma once\n#include "base/b.h"\n',
            "src/base/b.h": '#pragma once\n#include "base/a.h"\n',
        }
        self.assert_breaks("cycle", "src/base/a.h", files)

    def test_rule_that_allows_an_edge_upwards(self):
        rules = RULES.replace("folder base:", "folder base: store")
        self.assert_breaks("rules", "tools/tidy/rules.txt", {"tools/tidy/rules.txt": rules})

    def test_line_of_rules_that_cannot_be_read(self):
        files = {"tools/tidy/rules.txt": RULES + "floder text: base\n"}
        self.assert_breaks("rules", "tools/tidy/rules.txt", files)

    def test_folder_without_a_rule(self):
        self.assert_breaks("rules", "src/web/page.cpp", {"src/web/page.cpp": "int page;\n"})

    def test_fenced_header(self):
        text = '#include "base/error.h"\n#include <nlohmann/json.hpp>\n'
        self.assert_breaks("fence", "src/base/error.cpp", {"src/base/error.cpp": text})

    def test_unit_tests_may_include_what_tests_may(self):
        text = '#include "base/error.h"\n#include <nlohmann/json.hpp>\n'
        self.assertEqual([], check({"src/base/error_test.cpp": text})[0])

    def test_outside_header_that_no_rule_names(self):
        text = '#include "base/error.h"\n#include <boost/asio.hpp>\n'
        self.assert_breaks("fence", "src/base/error.cpp", {"src/base/error.cpp": text})

    def test_include_that_is_no_file(self):
        text = '#include "base/error.h"\n#include "error.h"\n'
        self.assert_breaks("include", "src/base/error.cpp", {"src/base/error.cpp": text})

    def test_header_that_nobody_needs(self):
        files = {
            "src/base/idle.h": "#pragma once\n",
            "src/base/idle.cpp": '#include "base/idle.h"\n',
            "src/base/idle_test.cpp": '#include "base/idle.h"\n',
        }
        self.assert_breaks("unused-header", "src/base/idle.h", files)

    def test_header_without_pragma_once(self):
        text = CLEAN["src/store/lru.h"].replace("#pragma once\n", "")
        self.assert_breaks("pragma-once", "src/store/lru.h", {"src/store/lru.h": text})

    def test_long_file(self):
        ok, bad = "int a;\n" * 600, "int a;\n" * 601
        self.assertEqual([], check({"src/apps/long.cpp": ok})[0])
        self.assert_breaks("file-length", "src/apps/long.cpp", {"src/apps/long.cpp": bad})

    def test_long_function(self):
        ok, bad = ("int f() {\n" + "    g();\n" * (lines - 2) + "}\n" for lines in (70, 71))
        self.assertEqual([], check({"src/apps/f.cpp": ok})[0])
        self.assert_breaks("function-length", "src/apps/f.cpp", {"src/apps/f.cpp": bad})

    def test_long_python_function(self):
        text = "def f():\n" + "    g()\n" * 70
        self.assert_breaks("function-length", "tools/f.py", {"tools/f.py": text})

    def test_long_line_counts_characters(self):
        ok, bad = "// " + "é" * 97 + "\n", "// " + "e" * 98 + "\n"
        self.assertEqual([], check({"src/apps/a.cpp": ok})[0])
        self.assert_breaks("line-length", "src/apps/a.cpp", {"src/apps/a.cpp": bad})

    def test_mark(self):
        for mark in ("TO" "DO", "FIX" "ME"):
            self.assert_breaks("mark", "docs/a.md", {"docs/a.md": f"Later ({mark}: more).\n"})

    def test_machine_path(self):
        for path in ("/wo" "rk/x", "/ro" "ot", "/tm" "p/file"):
            files = {"src/apps/a.cpp": f'const char* kPath = "{path}";\n'}
            self.assert_breaks("machine-path", "src/apps/a.cpp", files)
        self.assertEqual([], check({"docs/a.md": "one layer/work unit, build/tmp/x\n"})[0])

    def test_document_outside_the_tree(self):
        files = {"src/apps/a.cpp": "// See DESI" "GN section 7.\n"}
        self.assert_breaks("elsewhere", "src/apps/a.cpp", files)

    def test_large_file(self):
        with tempfile.TemporaryDirectory() as root:
            large = Path(root) / "model.bin"
            large.touch()
            os.truncate(large, tidy.TRACKED_BYTES_MAX + 1)
            problems = tidy.run(root, io.StringIO())
        self.assertEqual([("file-bytes", "model.bin")], [(p.rule, p.path) for p in problems])

    def test_edge_that_cmake_does_not_link(self):
        text = "colibri_library(base USES fmt::fmt)\ncolibri_library(store USES fmt::fmt)\n"
        self.assert_breaks("cmake", "CMakeLists.txt", {"CMakeLists.txt": text})

    def test_test_without_goal_warns_only(self):
        problems, printed = check({"tests/golden/lru_test.cpp": "TEST(Lru, Keeps) {\n}\n"})
        self.assertEqual([], problems)
        self.assertIn("warning: tests/golden/lru_test.cpp:1: [test-comment]", printed)

    def test_exception_covers_and_is_reported_when_idle(self):
        files = {"src/apps/long.cpp": "int a;\n" * 601}
        exception = "file-length src/apps/*.cpp A table.\n"
        self.assertEqual([], check({**files, "tools/tidy/exceptions.txt": exception})[0])
        self.assert_breaks(
            "exceptions", "tools/tidy/exceptions.txt", {"tools/tidy/exceptions.txt": exception}
        )

    def test_exception_without_a_reason(self):
        files = {"tools/tidy/exceptions.txt": "file-length src/apps/a.cpp\n"}
        self.assert_breaks("exceptions", "tools/tidy/exceptions.txt", files)


class CppScanTest(unittest.TestCase):
    def names(self, text):
        return [(f.name, f.lines) for f in cpp_scan.functions(text)]

    def test_functions_of_all_kinds(self):
        text = """
namespace a {
struct S {
    S() : x_{1}, y_(2) {
    }
    bool operator==(const S& o) const {
        return true;
    }
    int x_, y_;
};
template <class T, class = std::enable_if_t<(sizeof(T) > 1)>>
Result<T> S::take(T v) const noexcept {
    if (v) {
        auto f = [&](int i) {
            return i;
        };
    }
    return v;
}
enum class E { one, two };
constexpr int kTable[] = {1, 2};
}
TEST(Suite, Name) {
}
"""
        got = self.names(text)
        want = [("S", 2), ("operator==", 3), ("S::take", 8), ("TEST(Suite, Name)", 2)]
        self.assertEqual(want, got)

    def test_braces_in_strings_comments_and_macros_do_not_count(self):
        text = (
            'int f() {\n    // {{{\n    g("{", \'{\', R"x({\n)x", 1\'000);\n}\n'
            "#define OPEN {\\\n    {\nint h() {\n}\n"
        )
        self.assertEqual([("f", 5), ("h", 2)], self.names(text))


if __name__ == "__main__":
    unittest.main()
