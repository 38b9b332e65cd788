// Regular expressions of tokenizer files, run by PCRE2 (UTF, UCP, JIT where the machine allows it).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace colibri {

// The engine that the pattern was written for. Their meanings differ in places where PCRE2 has a
// third one.
enum class RegexDialect : uint8_t {
    oniguruma,  // tokenizer.json (Hugging Face tokenizers): Ruby syntax
    rust,       // tiktoken (fancy-regex), and the built-in patterns of Hugging Face tokenizers
};

struct RegexMatch {
    size_t begin;
    size_t end;
};

// Working memory of matching; one per thread and call, never shared.
class RegexScratch {
public:
    RegexScratch();
    ~RegexScratch();
    RegexScratch(RegexScratch&&) noexcept;
    RegexScratch& operator=(RegexScratch&&) noexcept;

private:
    friend class Regex;
    struct Buffers;
    std::unique_ptr<Buffers> buffers_;
};

// A compiled pattern. Immutable and thread-safe.
class Regex {
public:
    // `where` names the pattern in errors, e.g. "tokenizer.json: pre_tokenizer". A construct whose
    // meaning is not known to be the same under PCRE2 is refused, never guessed.
    [[nodiscard]] static Result<Regex> compile(std::string_view pattern, RegexDialect dialect,
                                               std::string_view where);
    // Compiles a pattern that is already in PCRE2's own language.
    [[nodiscard]] static Result<Regex> compile_translated(std::string pattern,
                                                          std::string_view where);

    // Finds the leftmost match at or after byte `from` of `subject`, which must be valid UTF-8; the
    // subject's ends are what look-around sees. False: no match. Fails when PCRE2 gives up (match
    // limit, JIT stack).
    [[nodiscard]] Result<bool> find(std::string_view subject, size_t from, RegexScratch& scratch,
                                    RegexMatch& match) const;

private:
    struct Code;
    std::shared_ptr<const Code> code_;
    std::string where_;
};

}  // namespace colibri
