#include "tensor/format_names.h"

#include <charconv>
#include <string>

namespace colibri {

namespace {

std::optional<WeightKind> parse_kind(std::string_view text) {
    for (const WeightKind kind : {WeightKind::f32, WeightKind::bf16, WeightKind::fp8,
                                  WeightKind::int8, WeightKind::int4, WeightKind::int2}) {
        const std::string name = to_string(WeightFormat{.kind = kind});
        if (name.substr(0, name.find('-')) == text) return kind;
    }
    return std::nullopt;
}

}  // namespace

std::optional<WeightFormat> parse_weight_format(std::string_view text) {
    const size_t dash = text.find('-');
    const auto kind = parse_kind(text.substr(0, dash));
    if (!kind) return std::nullopt;
    WeightFormat format{.kind = *kind};
    if (dash != std::string_view::npos && text.substr(dash) != "-row") {
        if (!text.substr(dash).starts_with("-g")) return std::nullopt;
        const std::string_view digits = text.substr(dash + 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), format.group);
        if (error != std::errc{} || end != digits.data() + digits.size() || format.group == 0 ||
            format.group % kTileRows != 0 || format.group > kGroupMax)
            return std::nullopt;
    }
    // One spelling for each format.
    if (to_string(format) != text) return std::nullopt;
    const bool scaled = is_integer(format.kind) || format.kind == WeightKind::fp8;
    if (!scaled && format.group != 0) return std::nullopt;
    return format;
}

}  // namespace colibri
