// The small members of tokenizer.json: normalizer, pre_tokenizer, decoder, added_tokens.
#include <fmt/format.h>

#include "text/regex_dialect.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace colibri {
namespace {

using nlohmann::json;

// The pattern of ByteLevel with use_regex (GPT-2's).
constexpr std::string_view kByteLevelPattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr int kMaxNesting = 8;

// A node of the document with its path, for errors and typed access.
struct Node {
    const json& value;
    std::string path;  // "tokenizer.json: pre_tokenizer.pretokenizers[1]"

    tl::unexpected<Error> wrong(std::string_view field, std::string_view expected) const {
        const auto at = value.is_object() ? value.find(std::string(field)) : value.end();
        const std::string found = at == value.end() ? "nothing" : std::string(at->type_name());
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}.{}: found {}, expected {}", path, field, found, expected));
    }
    tl::unexpected<Error> unsupported(std::string_view what, std::string_view known) const {
        return fail(ErrorKind::unsupported,
                    fmt::format("{}: {} is not supported (supported: {})", path, what, known));
    }

    const json* find(std::string_view field) const {
        if (!value.is_object()) return nullptr;
        const auto at = value.find(std::string(field));
        return at == value.end() || at->is_null() ? nullptr : &*at;
    }
    Result<std::string> string(std::string_view field) const {
        const json* at = find(field);
        if (!at || !at->is_string()) return wrong(field, "a string");
        return at->get<std::string>();
    }
    Result<bool> boolean(std::string_view field, std::optional<bool> missing = {}) const {
        const json* at = find(field);
        if (!at && missing) return *missing;
        if (!at || !at->is_boolean()) return wrong(field, "true or false");
        return at->get<bool>();
    }
    Result<std::vector<Node>> list(std::string_view field) const {
        const json* at = find(field);
        if (!at || !at->is_array()) return wrong(field, "an array");
        std::vector<Node> nodes;
        nodes.reserve(at->size());
        for (size_t i = 0; i < at->size(); ++i)
            nodes.push_back({(*at)[i], fmt::format("{}.{}[{}]", path, field, i)});
        return nodes;
    }
};

// {"String": "..."} or {"Regex": "..."}.
Result<Regex> pattern_of(const Node& node) {
    const json* at = node.find("pattern");
    if (!at) return node.wrong("pattern", "{\"String\": ...} or {\"Regex\": ...}");
    const Node pattern{*at, node.path + ".pattern"};
    if (pattern.find("Regex")) {
        TRY(const std::string text, pattern.string("Regex"));
        return Regex::compile(text, RegexDialect::oniguruma, pattern.path);
    }
    TRY(const std::string text, pattern.string("String"));
    if (text.empty()) return pattern.unsupported("an empty pattern", "non-empty patterns");
    return Regex::compile_translated(regex_literal(text), pattern.path);
}

Status add_normalizer(const Node& node, int depth, std::vector<NormalizerStep>& steps) {
    if (depth > kMaxNesting) return node.unsupported("deeper nesting", "sequences of steps");
    TRY(const std::string type, node.string("type"));
    if (type == "Sequence") {
        TRY(const auto parts, node.list("normalizers"));
        for (const Node& part : parts) TRY_STATUS(add_normalizer(part, depth + 1, steps));
    } else if (type == "NFC") {
        steps.emplace_back(NormalizeNfc{});
    } else if (type == "NFD") {
        steps.emplace_back(NormalizeNfd{});
    } else if (type == "Prepend") {
        TRY(std::string prefix, node.string("prepend"));
        steps.emplace_back(NormalizePrepend{std::move(prefix)});
    } else if (type == "Replace") {
        TRY(Regex pattern, pattern_of(node));
        TRY(std::string content, node.string("content"));
        steps.emplace_back(NormalizeReplace{std::move(pattern), std::move(content)});
    } else if (type == "Strip") {
        TRY(const bool left, node.boolean("strip_left", true));
        TRY(const bool right, node.boolean("strip_right", true));
        steps.emplace_back(NormalizeStrip{left, right});
    } else {
        return node.unsupported(fmt::format("the normalizer '{}'", type),
                                "Sequence, NFC, NFD, Prepend, Replace, Strip");
    }
    return {};
}

Result<SplitBehavior> behavior_of(const Node& node, std::string_view missing) {
    std::string name(missing);
    if (node.find("behavior")) {
        TRY(name, node.string("behavior"));
    }
    // Both the spelling of files and that of the Python interface are found.
    if (name == "Removed" || name == "removed") return SplitBehavior::removed;
    if (name == "Isolated" || name == "isolated") return SplitBehavior::isolated;
    if (name == "MergedWithPrevious" || name == "merged_with_previous")
        return SplitBehavior::merged_with_previous;
    if (name == "MergedWithNext" || name == "merged_with_next")
        return SplitBehavior::merged_with_next;
    if (name == "Contiguous" || name == "contiguous") return SplitBehavior::contiguous;
    return node.unsupported(fmt::format("the behavior '{}'", name),
                            "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

Status add_fixed_split(const Node& node, std::string_view pattern, SplitBehavior behavior,
                       bool invert, PretokenizerSpec& out) {
    TRY(Regex regex, Regex::compile(pattern, RegexDialect::rust, node.path));
    out.steps.emplace_back(SplitStep{std::move(regex), behavior, invert});
    return {};
}

Status add_byte_level(const Node& node, PretokenizerSpec& out) {
    if (out.byte_level) return node.unsupported("a second ByteLevel", "one");
    TRY(const bool prefix, node.boolean("add_prefix_space", true));
    TRY(const bool use_regex, node.boolean("use_regex", true));
    if (prefix) out.steps.emplace_back(PrefixSpaceStep{});
    if (use_regex)
        TRY_STATUS(add_fixed_split(node, kByteLevelPattern, SplitBehavior::isolated, false, out));
    out.steps.emplace_back(SpellBytesStep{});
    out.byte_level = true;
    return {};
}

Status add_metaspace(const Node& node, PretokenizerSpec& out) {
    MetaspaceStep step;
    TRY(step.replacement, node.string("replacement"));
    if (step.replacement.empty() ||
        utf8_step(step.replacement, 0).length != step.replacement.size())
        return node.wrong("replacement", "one character");
    std::string scheme = "always";
    if (node.find("prepend_scheme")) {
        TRY(scheme, node.string("prepend_scheme"));
    } else {
        TRY(const bool prefix, node.boolean("add_prefix_space", true));
        if (!prefix) scheme = "never";
    }
    if (scheme == "first")
        step.prepend = MetaspaceStep::Prepend::first;
    else if (scheme == "never")
        step.prepend = MetaspaceStep::Prepend::never;
    else if (scheme != "always")
        return node.unsupported(fmt::format("the prepend_scheme '{}'", scheme),
                                "always, first, never");
    TRY(step.split, node.boolean("split", true));
    out.steps.emplace_back(std::move(step));
    return {};
}

Status add_split(const Node& node, PretokenizerSpec& out) {
    TRY(Regex pattern, pattern_of(node));
    TRY(const SplitBehavior behavior, behavior_of(node, "Isolated"));
    TRY(const bool invert, node.boolean("invert", false));
    out.steps.emplace_back(SplitStep{std::move(pattern), behavior, invert});
    return {};
}

Status add_pretokenizer(const Node& node, int depth, PretokenizerSpec& out) {
    if (depth > kMaxNesting || out.steps.size() + 4 > Pretokenizer::kMaxSteps)
        return node.unsupported("a longer or deeper sequence", "up to 28 steps, 8 deep");
    TRY(const std::string name, node.string("type"));
    const std::string_view type = name;
    if (type == "Sequence") {
        TRY(const auto parts, node.list("pretokenizers"));
        for (const Node& part : parts) TRY_STATUS(add_pretokenizer(part, depth + 1, out));
        return {};
    }
    if (type == "ByteLevel") return add_byte_level(node, out);
    if (type == "Split") return add_split(node, out);
    if (type == "Metaspace") return add_metaspace(node, out);
    if (type == "Digits") {
        TRY(const bool individual, node.boolean("individual_digits", false));
        return add_fixed_split(node, "\\p{N}",
                               individual ? SplitBehavior::isolated : SplitBehavior::contiguous,
                               false, out);
    }
    if (type == "Punctuation") {
        TRY(const SplitBehavior behavior, behavior_of(node, "Isolated"));
        return add_fixed_split(node, "[\\p{P}$+<=>^`|~]", behavior, false, out);
    }
    if (type == "WhitespaceSplit")
        return add_fixed_split(node, "\\s", SplitBehavior::removed, false, out);
    if (type == "Whitespace")
        return add_fixed_split(node, "\\w+|[^\\w\\s]+", SplitBehavior::removed, true, out);
    return node.unsupported(
        fmt::format("the pre_tokenizer '{}'", type),
        "Sequence, Split, ByteLevel, Digits, Punctuation, Whitespace, WhitespaceSplit, Metaspace");
}

constexpr std::string_view kKnownDecoders =
    "ByteLevel, or Replace, ByteFallback, Fuse and Strip of leading spaces in this order";

Status add_replace_decoder(const Node& node, DecoderSpec& out) {
    const json* pattern = node.find("pattern");
    if (!pattern) return node.wrong("pattern", "{\"String\": ...}");
    const Node inner{*pattern, node.path + ".pattern"};
    TRY(std::string from, inner.string("String"));
    TRY(std::string to, node.string("content"));
    if (from.empty() || to.size() > from.size())
        return node.unsupported("this replacement", "replacements that are not longer");
    out.replacements.emplace_back(std::move(from), std::move(to));
    return {};
}

Status add_strip_decoder(const Node& node, DecoderSpec& out) {
    TRY(const std::string content, node.string("content"));
    const json* start = node.find("start");
    const json* stop = node.find("stop");
    if (content != " " || !start || !start->is_number_unsigned() || (stop && *stop != 0))
        return node.unsupported("this Strip", kKnownDecoders);
    out.rules.strip_leading_spaces = start->get<size_t>();
    return {};
}

Status add_decoder(const Node& node, int depth, bool& fused, DecoderSpec& out) {
    if (depth > kMaxNesting) return node.unsupported("deeper nesting", "sequences of steps");
    const auto type = node.string("type");
    if (!type) return tl::unexpected(type.error());
    if (*type == "Sequence") {
        TRY(const auto parts, node.list("decoders"));
        for (const Node& part : parts) TRY_STATUS(add_decoder(part, depth + 1, fused, out));
        return {};
    }
    if (*type == "Replace" && !fused && !out.rules.byte_fallback)
        return add_replace_decoder(node, out);
    if (*type == "Strip" && fused) return add_strip_decoder(node, out);
    if (*type == "ByteLevel") {
        out.byte_level = true;
    } else if (*type == "ByteFallback" && !fused) {
        out.rules.byte_fallback = true;
    } else if (*type == "Fuse") {
        fused = true;
    } else {
        return node.unsupported(fmt::format("the decoder '{}' at this place", *type),
                                kKnownDecoders);
    }
    return {};
}

}  // namespace

Result<std::vector<NormalizerStep>> read_normalizer(const json& node, std::string_view file_name) {
    std::vector<NormalizerStep> steps;
    if (!node.is_null())
        TRY_STATUS(add_normalizer({node, fmt::format("{}: normalizer", file_name)}, 0, steps));
    return steps;
}

Result<PretokenizerSpec> read_pretokenizer(const json& node, std::string_view file_name) {
    PretokenizerSpec spec;
    if (!node.is_null())
        TRY_STATUS(add_pretokenizer({node, fmt::format("{}: pre_tokenizer", file_name)}, 0, spec));
    // Spelling the bytes matters only to steps that come after it.
    if (!spec.steps.empty() && std::holds_alternative<SpellBytesStep>(spec.steps.back()))
        spec.steps.pop_back();
    return spec;
}

Result<DecoderSpec> read_decoder(const json& node, std::string_view file_name) {
    DecoderSpec spec;
    const Node root{node, fmt::format("{}: decoder", file_name)};
    if (node.is_null())
        return root.unsupported("a tokenizer without a decoder",
                                "ByteLevel and SentencePiece decoders");
    bool fused = false;
    TRY_STATUS(add_decoder(root, 0, fused, spec));
    if (spec.byte_level && (fused || spec.rules.byte_fallback || !spec.replacements.empty()))
        return root.unsupported("ByteLevel together with other decoders", "one of them");
    return spec;
}

Result<std::vector<AddedToken>> read_added_tokens(const json& node, std::string_view file_name) {
    std::vector<AddedToken> tokens;
    if (node.is_null()) return tokens;
    if (!node.is_array())
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: added_tokens: found {}, expected an array", file_name,
                                node.type_name()));
    for (size_t i = 0; i < node.size(); ++i) {
        const Node item{node[i], fmt::format("{}: added_tokens[{}]", file_name, i)};
        AddedToken token;
        TRY(token.content, item.string("content"));
        const json* id = item.find("id");
        if (!id || !id->is_number_unsigned()) return item.wrong("id", "a number of at least 0");
        if (id->get<uint64_t>() >= static_cast<uint64_t>(Tokenizer::kMaxTokens))
            return fail(ErrorKind::invalid_input,
                        fmt::format("{}.id: {} is out of range (must be below {})", item.path,
                                    id->get<uint64_t>(), Tokenizer::kMaxTokens));
        token.id = static_cast<int32_t>(id->get<uint64_t>());
        TRY(token.special, item.boolean("special", false));
        TRY(token.single_word, item.boolean("single_word", false));
        TRY(token.lstrip, item.boolean("lstrip", false));
        TRY(token.rstrip, item.boolean("rstrip", false));
        TRY(token.normalized, item.boolean("normalized", !token.special));
        tokens.push_back(std::move(token));
    }
    return tokens;
}

}  // namespace colibri
