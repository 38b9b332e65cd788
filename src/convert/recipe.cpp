#include "convert/recipe.h"

#include <fmt/format.h>

#include <utility>

#include "tensor/format_names.h"

namespace colibri {

namespace {

constexpr std::array<std::string_view, kTensorClasses> kClassNames{
    "experts",   "attention", "indexer",     "shared",   "dense",
    "embedding", "head",      "mtp-experts", "mtp-dense"};

constexpr std::array<std::string_view, 3> kExpertParts{"gate", "up", "down"};
constexpr std::array<std::string_view, 8> kAttentionParts{"query", "query_a", "query_b", "key",
                                                          "value", "kv_a",    "kv_b",    "output"};
constexpr std::array<std::string_view, 2> kIndexerParts{"query", "key"};

std::span<const std::string_view> projections(TensorClass tensor_class) {
    switch (tensor_class) {
        case TensorClass::experts:
        case TensorClass::shared:
        case TensorClass::dense:
        case TensorClass::draft_experts: return kExpertParts;
        case TensorClass::attention: return kAttentionParts;
        case TensorClass::indexer: return kIndexerParts;
        case TensorClass::embedding:
        case TensorClass::head:
        case TensorClass::draft_dense: return {};
    }
    return {};
}

constexpr WeightFormat kInt8{.kind = WeightKind::int8, .group = 64, .scales = ScaleType::f16};
constexpr WeightFormat kInt4{.kind = WeightKind::int4, .group = 64, .scales = ScaleType::f16};

// Any group that the layout allows can be written; these are the ones worth naming.
constexpr std::array<std::string_view, 10> kNamed{"f32",      "bf16",     "fp8",      "int8",
                                                  "int8-row", "int4-g32", "int4-g64", "int4-g128",
                                                  "int2-g32", "int2-g64"};

Result<FormatChoice> parse_choice(std::string_view text) {
    if (text == "auto") return FormatChoice{};
    if (text == "keep") return FormatChoice{.kind = FormatChoice::Kind::keep};
    if (text == "int8") return FormatChoice{.kind = FormatChoice::Kind::format, .format = kInt8};
    if (text == "fp8") text = "fp8-g128";
    // The type of integer scales may be named: "int4-g64:f32".
    const size_t colon = text.find(':');
    auto format = parse_weight_format(text.substr(0, colon));
    if (format && is_integer(format->kind)) format->scales = ScaleType::f16;
    if (format && colon != std::string_view::npos) {
        const std::string_view scales = text.substr(colon + 1);
        if (is_integer(format->kind) && scales == "f32")
            format->scales = ScaleType::f32;
        else if (!is_integer(format->kind) || scales != "f16")
            format.reset();
    }
    if (!format || (format->kind == WeightKind::fp8 && format->group != 128))
        return fail(ErrorKind::invalid_input,
                    fmt::format("format \"{:.80}\" is not one that convert writes: auto, keep, {}, "
                                "other groups that are multiples of 16, integer formats also "
                                "with :f32 for wider scales",
                                text, writable_formats()));
    return FormatChoice{.kind = FormatChoice::Kind::format, .format = *format};
}

// Class and projection of a dense matrix; nothing for those that are kept exactly.
struct Place {
    TensorClass tensor_class;
    size_t projection = 0;  // index into Recipe::choices[class]
};

std::optional<Place> place_of(TensorRole role) {
    const auto attention = [](size_t part) { return Place{TensorClass::attention, part + 1}; };
    switch (role) {
        case TensorRole::embedding: return Place{TensorClass::embedding};
        case TensorRole::head: return Place{TensorClass::head};
        case TensorRole::query: return attention(0);
        case TensorRole::query_a: return attention(1);
        case TensorRole::query_b: return attention(2);
        case TensorRole::key: return attention(3);
        case TensorRole::value: return attention(4);
        case TensorRole::kv_a: return attention(5);
        case TensorRole::kv_b: return attention(6);
        case TensorRole::output: return attention(7);
        case TensorRole::index_query: return Place{TensorClass::indexer, 1};
        case TensorRole::index_key: return Place{TensorClass::indexer, 2};
        case TensorRole::gate: return Place{TensorClass::dense, 1};
        case TensorRole::up: return Place{TensorClass::dense, 2};
        case TensorRole::down: return Place{TensorClass::dense, 3};
        case TensorRole::shared_gate: return Place{TensorClass::shared, 1};
        case TensorRole::shared_up: return Place{TensorClass::shared, 2};
        case TensorRole::shared_down: return Place{TensorClass::shared, 3};
        case TensorRole::draft_projection: return Place{TensorClass::draft_dense};
        case TensorRole::final_norm:
        case TensorRole::first_norm:
        case TensorRole::second_norm:
        case TensorRole::query_a_norm:
        case TensorRole::kv_a_norm:
        case TensorRole::query_norm:
        case TensorRole::key_norm:
        case TensorRole::index_gate:
        case TensorRole::index_key_norm:
        case TensorRole::index_key_norm_bias:
        case TensorRole::router:
        case TensorRole::router_bias:
        case TensorRole::draft_embedding_norm:
        case TensorRole::draft_hidden_norm:
        case TensorRole::draft_head_norm:
        case TensorRole::draft_embedding_alias:
        case TensorRole::draft_head_alias: return std::nullopt;
    }
    return std::nullopt;
}

// Integers are kept: another rounding on top would only lose. Embeddings are looked up, not
// multiplied: quantizing them saves no time.
WeightFormat default_format(TensorClass tensor_class, WeightFormat source) {
    if (is_integer(source.kind)) return source;
    switch (tensor_class) {
        case TensorClass::experts: return kInt4;
        case TensorClass::embedding: return source;
        case TensorClass::attention:
        case TensorClass::indexer:
        case TensorClass::shared:
        case TensorClass::dense:
        case TensorClass::head:
        case TensorClass::draft_experts:
        case TensorClass::draft_dense: return kInt8;
    }
    return source;
}

}  // namespace

std::string_view to_string(TensorClass tensor_class) {
    return kClassNames[size_t(tensor_class)];
}

std::string writable_formats() {
    std::string text;
    for (const std::string_view name : kNamed)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    return text;
}

Status Recipe::set_experts(std::string_view text) {
    TRY(choices[size_t(TensorClass::experts)][0], parse_choice(text));
    return {};
}

Status Recipe::set_dense(std::string_view text) {
    TRY(const FormatChoice choice, parse_choice(text));
    for (const TensorClass c : {TensorClass::attention, TensorClass::indexer, TensorClass::shared,
                                TensorClass::dense, TensorClass::embedding, TensorClass::head})
        choices[size_t(c)][0] = choice;
    return {};
}

Status Recipe::set_draft(std::string_view text) {
    TRY(const FormatChoice choice, parse_choice(text));
    for (const TensorClass c : {TensorClass::draft_experts, TensorClass::draft_dense})
        choices[size_t(c)][0] = choice;
    return {};
}

Status Recipe::set_overrides(std::string_view text) {
    while (!text.empty()) {
        const size_t comma = text.find(',');
        const std::string_view entry = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        const size_t equals = entry.find('=');
        if (equals == std::string_view::npos)
            return fail(
                ErrorKind::invalid_input,
                fmt::format("\"{:.80}\": expected CLASS=FORMAT or CLASS.PROJECTION=FORMAT", entry));
        TRY(const FormatChoice choice, parse_choice(entry.substr(equals + 1)));
        const std::string_view name = entry.substr(0, equals);
        const size_t dot = name.find('.');
        bool found = false;
        for (size_t c = 0; c < kTensorClasses; ++c) {
            if (kClassNames[c] != name.substr(0, dot)) continue;
            const auto parts = projections(TensorClass(c));
            if (dot == std::string_view::npos) {
                choices[c].fill(FormatChoice{});
                choices[c][0] = choice;
                found = true;
            }
            for (size_t p = 0; p < parts.size() && dot != std::string_view::npos; ++p)
                if (parts[p] == name.substr(dot + 1)) {
                    choices[c][p + 1] = choice;
                    found = true;
                }
        }
        if (found) continue;
        std::string known;
        for (size_t c = 0; c < kTensorClasses; ++c) {
            known += fmt::format("{}{}", known.empty() ? "" : ", ", kClassNames[c]);
            std::string parts;
            for (const std::string_view part : projections(TensorClass(c)))
                parts += fmt::format("{}{}", parts.empty() ? "" : "|", part);
            if (!parts.empty()) known += fmt::format(" (.{})", parts);
        }
        return fail(ErrorKind::invalid_input,
                    fmt::format("no tensors are called \"{:.80}\"; there are {}", name, known));
    }
    return {};
}

namespace {

WeightFormat resolve(const std::array<FormatChoice, 9>& choices, size_t projection,
                     TensorClass tensor_class, WeightFormat source) {
    for (const size_t at : {projection, size_t(0)}) {
        const FormatChoice& choice = choices[at];
        if (choice.kind == FormatChoice::Kind::keep) return source;
        if (choice.kind != FormatChoice::Kind::format) continue;
        // The same with scales of another type: rounding once more would only lose.
        const bool same = choice.format.kind == source.kind && choice.format.group == source.group;
        return same ? source : choice.format;
    }
    return default_format(tensor_class, source);
}

}  // namespace

WeightFormat Recipe::expert_format(bool draft, uint32_t part, WeightFormat source) const {
    const TensorClass c = draft ? TensorClass::draft_experts : TensorClass::experts;
    return resolve(choices[size_t(c)], part + 1, c, source);
}

WeightFormat Recipe::dense_format(TensorRole role, bool draft, WeightFormat source) const {
    const auto place = place_of(role);
    if (!place) return source;
    if (draft)
        return resolve(choices[size_t(TensorClass::draft_dense)], 0, TensorClass::draft_dense,
                       source);
    return resolve(choices[size_t(place->tensor_class)], place->projection, place->tensor_class,
                   source);
}

std::string Recipe::canonical() const {
    std::string text;
    for (size_t c = 0; c < kTensorClasses; ++c)
        for (size_t p = 0; p < choices[c].size(); ++p) {
            const FormatChoice& choice = choices[c][p];
            if (choice.kind == FormatChoice::Kind::automatic) continue;
            text += fmt::format(
                "{}{}{}={}", text.empty() ? "" : ",", kClassNames[c],
                p == 0 ? std::string() : fmt::format(".{}", projections(TensorClass(c))[p - 1]),
                choice.kind == FormatChoice::Kind::keep ? "keep"
                : is_integer(choice.format.kind) ? fmt::format("{}:{}", to_string(choice.format),
                                                               to_string(choice.format.scales))
                                                 : to_string(choice.format));
        }
    return text.empty() ? "auto" : text;
}

}  // namespace colibri
