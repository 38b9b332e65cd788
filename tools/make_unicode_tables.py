#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cpp from Python's Unicode database.

    /usr/bin/python3 tools/make_unicode_tables.py > src/text/unicode_tables.cpp

Decompositions are canonical and full (recursive). Composition pairs leave out the exclusions: a
pair is listed when NFC really joins it. Hangul is algorithmic and not in the tables.
"""
import sys
import unicodedata as u

LINE = 96
# The reference library (Hugging Face tokenizers) normalizes with the data of Unicode 9. Marks and
# compositions that came later are left as they are, so that texts get the same ids.
LATER = [
    (0x7FD, 0x7FD), (0x898, 0x89F), (0x8CA, 0x8D3), (0x9FE, 0x9FE), (0xC3C, 0xC3C),
    (0xD3B, 0xD3C), (0xEBA, 0xEBA), (0x1715, 0x1715), (0x1ABF, 0x1ACE), (0x1DF6, 0x1DFA),
    (0xA82C, 0xA82C), (0x10D24, 0x10D27), (0x10EAB, 0x10EAC), (0x10F46, 0x10F50),
    (0x10F82, 0x10F85), (0x11070, 0x11070), (0x1133B, 0x1133B), (0x1145E, 0x1145E),
    (0x11839, 0x1183A), (0x11935, 0x11943), (0x119E0, 0x119E0), (0x11A34, 0x11A34),
    (0x11A47, 0x11A47), (0x11A99, 0x11A99), (0x11D42, 0x11D45), (0x11D97, 0x11D97),
    (0x16FF0, 0x16FF1), (0x1E130, 0x1E136), (0x1E2AE, 0x1E2AE), (0x1E2EC, 0x1E2EF),
]
HANGUL = (0xAC00, 0xD7A3)
SURROGATES = (0xD800, 0xDFFF)


def wrap(items):
    out, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > LINE:
            out.append(line)
            line = "   "
        line += " " + item + ","
    return "\n".join(out + [line])


def table(name, items):
    print("constexpr %s[] = {\n%s\n};\n" % (name, wrap(items)))


def main():
    ranges = LATER + [HANGUL, SURROGATES]
    skipped = {c for first, last in ranges for c in range(first, last + 1)}
    points = [c for c in range(0x110000) if c not in skipped]
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
    print("// Made by tools/make_unicode_tables.py: Unicode %s, reduced to 9." % u.unidata_version)
    print('#include "text/unicode_tables.h"\n\nnamespace colibri::unicode {\nnamespace {\n')
    table("uint32_t kPool", ("0x%X" % c for c in pool))
    table("Decomposition kDecompositions", ("{0x%X, %d, %d}" % e for e in entries))
    table("Composition kCompositions", ("{0x%X, 0x%X, 0x%X}" % p for p in sorted(pairs)))
    table("CombiningRange kClasses", ("{0x%X, 0x%X, %d}" % tuple(k) for k in classes))
    print("}  // namespace\n")
    print("std::span<const uint32_t> decomposition_pool() {\n    return kPool;\n}\n")
    print("std::span<const Decomposition> decompositions() {\n    return kDecompositions;\n}\n")
    print("std::span<const Composition> compositions() {\n    return kCompositions;\n}\n")
    print("std::span<const CombiningRange> combining_classes() {\n    return kClasses;\n}\n")
    print("}  // namespace colibri::unicode")


if __name__ == "__main__":
    sys.exit(main())
