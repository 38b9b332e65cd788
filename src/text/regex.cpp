#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "text/regex_dialect.h"

namespace colibri {
namespace {

constexpr size_t kMaxPatternBytes = 256 * 1024;
constexpr size_t kJitStackStart = 64 * 1024;
constexpr size_t kJitStackMost = 64UL * 1024 * 1024;
constexpr uint32_t kMatchLimit = 50'000'000;

std::string pcre2_message(int code) {
    std::array<PCRE2_UCHAR, 256> text{};
    if (pcre2_get_error_message(code, text.data(), text.size()) < 0)
        return fmt::format("error {}", code);
    return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Code {
    explicit Code(pcre2_code* compiled) : code(compiled) {}
    ~Code() { pcre2_code_free(code); }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    pcre2_code* code;
};

struct RegexScratch::Buffers {
    Buffers()
        : match_data(pcre2_match_data_create(1, nullptr)),
          context(pcre2_match_context_create(nullptr)) {
        if (context) pcre2_set_match_limit(context, kMatchLimit);
    }
    ~Buffers() {
        pcre2_match_data_free(match_data);
        pcre2_match_context_free(context);
        pcre2_jit_stack_free(stack);
    }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;

    // Long runs outgrow the 32 KiB of machine stack that JIT code uses by itself.
    bool grow_stack() {
        if (stack) return false;
        stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr);
        if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
        return stack != nullptr;
    }

    pcre2_match_data* match_data;
    pcre2_match_context* context;
    pcre2_jit_stack* stack = nullptr;
};

RegexScratch::RegexScratch() : buffers_(std::make_unique<Buffers>()) {}
RegexScratch::~RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;

Result<Regex> Regex::compile(std::string_view pattern, RegexDialect dialect,
                             std::string_view where) {
    TRY(std::string translated, translate_regex(pattern, dialect, where));
    return compile_translated(std::move(translated), where);
}

Result<Regex> Regex::compile_translated(std::string pattern, std::string_view where) {
    if (pattern.size() > kMaxPatternBytes)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: pattern of {} bytes, at most {} are supported", where,
                                pattern.size(), kMaxPatternBytes));
    const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
        pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
    if (context) pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* compiled =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
                          PCRE2_NO_AUTO_CAPTURE,
                      &code, &offset, context.get());
    if (!compiled)
        return fail(
            ErrorKind::invalid_input,
            fmt::format("{}: the pattern does not compile: {} (near '{}')", where,
                        pcre2_message(code), pattern.substr(std::min(offset, pattern.size()), 40)));
    // Without JIT (it may be forbidden on a hardened system) pcre2_match interprets: the same
    // matches, slower.
    pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    Regex regex;
    regex.code_ = std::make_shared<const Code>(compiled);
    regex.where_ = where;
    return regex;
}

Result<bool> Regex::find(std::string_view subject, size_t from, RegexScratch& scratch,
                         RegexMatch& match) const {
    RegexScratch::Buffers& buffers = *scratch.buffers_;
    if (!buffers.match_data || !buffers.context)
        return fail(ErrorKind::out_of_budget, fmt::format("{}: no memory to match in", where_));
    // A null pointer is not a valid subject, not even an empty one.
    const char* data = subject.data() ? subject.data() : "";
    const auto run = [&] {
        return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(data), subject.size(), from,
                           PCRE2_NO_UTF_CHECK, buffers.match_data, buffers.context);
    };
    int code = run();
    if (code == PCRE2_ERROR_JIT_STACKLIMIT && buffers.grow_stack()) code = run();
    if (code == PCRE2_ERROR_NOMATCH) return false;
    if (code < 0)
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: matching gave up at byte {} of a piece of {} bytes: {}",
                                where_, from, subject.size(), pcre2_message(code)));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(buffers.match_data);
    match = {bounds[0], bounds[1]};
    if (match.begin < from || match.end < match.begin || match.end > subject.size())
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: the pattern matched backwards ({} to {}, searched from {})",
                                where_, match.begin, match.end, from));
    return true;
}

}  // namespace colibri
