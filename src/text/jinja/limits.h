// What a template may cost. Templates come with models from anywhere, and conversations from
// anyone: a hostile or broken one must end in an error after a bounded time and memory, never in a
// hang or a crash. Python bounds none of this, so each number is far above what a real template
// needs.
#pragma once

#include <cstddef>

namespace colibri::jinja {

// The largest published templates are below 30 KiB; a megabyte still parses in milliseconds.
inline constexpr size_t kSourceBytesMax = size_t{1} << 20U;
// Nesting of expressions and blocks. Real ones stay below 40. Bounds the C++ stack of parser and
// AST.
inline constexpr size_t kSyntaxDepthMax = 200;
// Height of one expression, where chains such as a + b + c + ... count too.
inline constexpr size_t kExpressionDepthMax = 500;
// Nested JSON objects, lists and Python-like values. JSON schemas of tools stay below 30.
inline constexpr size_t kValueDepthMax = 128;
// The range() limit of Jinja's own sandbox.
inline constexpr size_t kRangeItemsMax = 100'000;

struct RenderLimits {
    // Nested evaluations (macros that call themselves); bounds the C++ stack to about 1 MiB.
    size_t call_depth_max = 1'000;
    // Evaluated nodes, visited items, copied bytes / 64 and examined characters / 8, together. A
    // conversation of a million tokens takes 0.4 to 0.8 million steps in long messages and 3.5
    // million in 20,000 short ones; 20 million take two to five seconds.
    size_t steps_max = 20'000'000;
    // Live strings and containers. A million tokens of text are about 4 MiB, and templates hold a
    // few copies.
    size_t value_bytes_max = size_t{256} << 20U;
    // One string or list. Also the bound on the rendered prompt, which is 16 million tokens at
    // least.
    size_t string_bytes_max = size_t{64} << 20U;
};

}  // namespace colibri::jinja
