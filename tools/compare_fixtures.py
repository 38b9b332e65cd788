#!/usr/bin/env python3
"""Compares the program's own evaluation output with reference fixtures, as an outsider would.

    tools/compare_fixtures.py PROGRAM FIXTURE_DIR [FIXTURE_DIR ...]

Runs `coli eval trace --activations f32` on every prompt of each fixture (for their form see
tests/golden/README.md) and prints one row per fixture: worst relative logit error, then counts of
mismatches. Exits 1 if a required figure is missed.
Standard library only.
"""

import array
import ast
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

LOGIT_LIMIT = 1e-4
GAP_LIMIT = 1e-3


def read_npy(path):
    """Values of a little-endian float32 or int32 .npy file, and its shape."""
    raw = path.read_bytes()
    size = struct.unpack("<H", raw[8:10])[0]
    header = ast.literal_eval(raw[10 : 10 + size].decode("latin1"))
    values = array.array({"<f4": "f", "<i4": "i"}[header["descr"]])
    values.frombytes(raw[10 + size :])
    return values, header["shape"]


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        values = array.array({"F32": "f", "I32": "i"}[entry["dtype"]])
        begin, end = entry["data_offsets"]
        values.frombytes(raw[8 + size + begin : 8 + size + end])
        tensors[name] = values
    return tensors


def relative_error(got, want):
    largest = max(max(want), -min(want))
    return max(abs(a - b) for a, b in zip(got, want)) / largest


def argmax_rows(values, width):
    rows = [values[i : i + width] for i in range(0, len(values), width)]
    return [row.index(max(row)) for row in rows]


def differing(got, want):
    return sum(a != b for a, b in zip(got, want)) + abs(len(got) - len(want))


class Row:
    def __init__(self, name):
        self.name = name
        self.error = 0.0
        self.hidden = 0.0
        self.counts = dict(argmax=None, greedy=None, routing=None, selection=None, drafts=None)

    def add(self, what, count):
        self.counts[what] = (self.counts[what] or 0) + count

    def failed(self):
        return self.error > LOGIT_LIMIT or self.hidden > LOGIT_LIMIT or any(self.counts.values())

    def __str__(self):
        shown = "  ".join(
            f"{key} {'n/a' if value is None else value}" for key, value in self.counts.items()
        )
        return f"{self.name:<18} logits {self.error:.1e}  hidden {self.hidden:.1e}  {shown}"


def run_case(program, model, case, folder):
    command = [program, "eval", "trace", "--model", str(model), "--activations", "f32"]
    command += ["--tokens", " ".join(map(str, case["prompt"])), "--out", str(folder)]
    command += ["--greedy", str(len(case.get("greedy", [])))]
    command += ["--drafts", str(len(case.get("drafts", [])))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{model}: exit {done.returncode}: {done.stderr}")


def compare_case(index, case, oracle, exact_greedy, folder, row):
    prefix = f"p{index}."
    logits, shape = read_npy(folder / "logits.npy")
    width = shape[1]
    first = case.get("first_logit_row", 0)
    row.error = max(row.error, relative_error(logits[first * width :], oracle[prefix + "logits"]))
    got = argmax_rows(logits, width)
    row.add("argmax", differing(got[len(got) - len(case["argmax"]) :], case["argmax"]))
    answer = json.loads((folder / "greedy.json").read_text())
    close = 0 < case.get("greedy_smallest_relative_gap", 1) < GAP_LIMIT
    if case.get("greedy") and exact_greedy and not close:
        row.add("greedy", differing(answer["greedy"], case["greedy"]))
    if case.get("drafts"):
        row.add("drafts", differing(answer["drafts"], case["drafts"]))
    for name, file in (("mtp.forced", "mtp.forced.npy"), ("mtp.draft", "mtp.draft.npy")):
        want = oracle.get(f"{prefix}{name}.logits")
        if want is not None:
            values = read_npy(folder / file)[0]
            row.error = max(row.error, relative_error(values[len(values) - len(want) :], want))
    for name, want in oracle.items():
        if not name.startswith(prefix):
            continue
        kind = name[len(prefix) :]
        path = folder / (kind + ".npy")
        if kind.startswith("hidden"):
            row.hidden = max(row.hidden, relative_error(read_npy(path)[0], want))
        elif kind.endswith(".ids"):
            row.add("routing", differing(read_npy(path)[0], want))
        elif kind.startswith("index"):
            row.add("selection", differing(read_npy(path)[0], want))


def main():
    program, *fixtures = sys.argv[1:]
    failed = False
    for fixture in map(pathlib.Path, fixtures):
        if not fixture.is_dir():  # tests/golden/* names its README too
            continue
        record = json.loads((fixture / "oracle.json").read_text())
        oracle = read_safetensors(fixture / "oracle.safetensors")
        row = Row(fixture.name)
        for index, case in enumerate(record["cases"]):
            with tempfile.TemporaryDirectory() as folder:
                run_case(program, fixture, case, folder)
                exact = record.get("exact_greedy", True)
                compare_case(index, case, oracle, exact, pathlib.Path(folder), row)
        print(row, flush=True)
        failed |= row.failed()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
