#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cpp from Python's Unicode database.

    /usr/bin/python3 tools/make_unicode_tables.py > src/text/unicode_tables.cpp

Decompositions are canonical and full (recursive). Composition pairs leave out the exclusions: a pair is listed when NFC
really joins it. Hangul is algorithmic and not in the tables.
"""
import sys
import unicodedata as u

LINE = 96


def wrap(items):
    out, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > LINE:
            out.append(line)
            line = "   "
        line += " " + item + ","
    return "\n".join(out + [line])


def main():
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and not 0xAC00 <= c <= 0xD7A3]
    pool, entries, pairs, classes = [], [], [], []
    for c in points:
        full = u.normalize("NFD", chr(c))
        if full != chr(c):
            entries.append((c, len(pool), len(full)))
            pool.extend(ord(x) for x in full)
        one = u.decomposition(chr(c))
        if one and not one.startswith("<"):
            parts = [int(x, 16) for x in one.split()]
            if len(parts) == 2 and u.normalize("NFC", chr(parts[0]) + chr(parts[1])) == chr(c):
                pairs.append((parts[0], parts[1], c))
        k = u.combining(chr(c))
        if k:
            if classes and classes[-1][1] == c - 1 and classes[-1][2] == k:
                classes[-1][1] = c
            else:
                classes.append([c, c, k])
    print("// Made by tools/make_unicode_tables.py from Unicode %s; do not edit." % u.unidata_version)
    print('#include "text/unicode_tables.h"\n\nnamespace colibri::unicode {\nnamespace {\n')
    print("constexpr uint32_t kPool[] = {\n%s\n};\n" % wrap("0x%X" % c for c in pool))
    print("constexpr Decomposition kDecompositions[] = {\n%s\n};\n" % wrap("{0x%X, %d, %d}" % e for e in entries))
    print("constexpr Composition kCompositions[] = {\n%s\n};\n" % wrap("{0x%X, 0x%X, 0x%X}" % p for p in sorted(pairs)))
    print("constexpr CombiningRange kClasses[] = {\n%s\n};\n" % wrap("{0x%X, 0x%X, %d}" % tuple(k) for k in classes))
    print("}  // namespace\n")
    print("std::span<const uint32_t> decomposition_pool() {\n    return kPool;\n}\n")
    print("std::span<const Decomposition> decompositions() {\n    return kDecompositions;\n}\n")
    print("std::span<const Composition> compositions() {\n    return kCompositions;\n}\n")
    print("std::span<const CombiningRange> combining_classes() {\n    return kClasses;\n}\n")
    print("}  // namespace colibri::unicode")


if __name__ == "__main__":
    sys.exit(main())
