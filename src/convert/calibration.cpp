#include "convert/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "format/safetensors.h"
#include "format/safetensors_writer.h"
#include "platform/file.h"

namespace colibri {

namespace {

constexpr std::string_view kFormat = "colibri-calibration";
constexpr std::string_view kExperts = "experts.";
// An expert's own statistics count as much as its mean once it has seen this many rows.
constexpr float kPriorRows = 8;
// Columns that were never active still matter a little.
constexpr float kFloor = 1e-3F;

float mean(std::span<const float> values) {
    if (values.empty()) return 0;
    return float(std::accumulate(values.begin(), values.end(), 0.0) / double(values.size()));
}

// values * own + mean * (1 - own), not below a share of the mean.
std::vector<float> smoothed(std::span<const float> values, float own) {
    const float middle = mean(values);
    if (!(middle > 0)) return {};
    std::vector<float> out(values.begin(), values.end());
    for (float& value : out) value = std::max(value * own + middle * (1 - own), middle * kFloor);
    return out;
}

// "experts.12.down" is {12, "down"}.
std::optional<std::pair<uint32_t, std::string_view>> expert_name(std::string_view name) {
    if (!name.starts_with(kExperts)) return std::nullopt;
    name.remove_prefix(kExperts.size());
    uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc{} || end == name.data() + name.size() || *end != '.')
        return std::nullopt;
    return std::pair{layer, name.substr(size_t(end - name.data()) + 1)};
}

Status place(Calibration& calibration, const SafetensorsEntry& entry, std::vector<float> values,
             const std::string& path) {
    const auto expert = expert_name(entry.name);
    if (!expert) {
        calibration.dense.emplace(entry.name, std::move(values));
        return {};
    }
    ExpertMoments& moments = calibration.experts[expert->first];
    if (expert->second == "input")
        moments.input = std::move(values);
    else if (expert->second == "down")
        moments.down = std::move(values);
    else if (expert->second == "rows")
        moments.rows = std::move(values);
    else
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: tensor {}: expected experts.L.input, .down or .rows", path,
                                entry.name));
    return {};
}

}  // namespace

std::vector<float> Calibration::expert(uint32_t layer, uint32_t expert, uint32_t part) const {
    const auto found = experts.find(layer);
    if (found == experts.end()) return {};
    const ExpertMoments& moments = found->second;
    if (part < 2) return smoothed(moments.input, 1);
    if (expert >= moments.rows.size()) return {};
    const size_t hidden = moments.down.size() / moments.rows.size();
    const float seen = moments.rows[expert];
    return smoothed(std::span(moments.down).subspan(expert * hidden, hidden),
                    seen / (seen + kPriorRows));
}

std::vector<float> Calibration::matrix(const std::string& name) const {
    const auto found = dense.find(name);
    return found == dense.end() ? std::vector<float>() : smoothed(found->second, 1);
}

Status write_calibration(const Calibration& calibration, const std::string& path) {
    SafetensorsWriter file;
    file.metadata("format", kFormat);
    file.metadata("rows", fmt::to_string(calibration.rows));
    for (const auto& [name, values] : calibration.dense) file.add(name, {values.size()}, values);
    for (const auto& [layer, moments] : calibration.experts) {
        const std::string prefix = fmt::format("{}{}.", kExperts, layer);
        const uint64_t count = moments.rows.size();
        file.add(prefix + "input", {moments.input.size()}, moments.input);
        file.add(prefix + "down", {count, moments.down.size() / std::max<uint64_t>(count, 1)},
                 moments.down);
        file.add(prefix + "rows", {count}, moments.rows);
    }
    return file.write(path);
}

Result<Calibration> read_calibration(const std::string& path) {
    TRY(const auto file, File::open(path));
    TRY(const SafetensorsHeader header, read_safetensors_header(*file));
    const auto value_of = [&](std::string_view wanted) -> std::string {
        for (const auto& [key, value] : header.metadata)
            if (key == wanted) return value;
        return {};
    };
    if (value_of("format") != kFormat)
        return fail(ErrorKind::corrupt,
                    fmt::format("{}: not a calibration: its metadata has format \"{:.80}\", "
                                "expected \"{}\"; coli calibrate writes such files",
                                path, value_of("format"), kFormat));
    Calibration calibration;
    const std::string rows = value_of("rows");
    (void)std::from_chars(rows.data(), rows.data() + rows.size(), calibration.rows);
    for (const SafetensorsEntry& entry : header.tensors) {
        if (entry.dtype != DType::f32)
            return fail(ErrorKind::corrupt, fmt::format("{}: tensor {}: {}, expected F32", path,
                                                        entry.name, to_string(entry.dtype)));
        std::vector<float> values(entry.size_bytes / sizeof(float));
        TRY_STATUS(file->read_at(entry.offset, std::as_writable_bytes(std::span(values))));
        for (const float value : values)
            if (!std::isfinite(value) || value < 0)
                return fail(ErrorKind::corrupt,
                            fmt::format("{}: tensor {}: found {}, expected mean squares", path,
                                        entry.name, value));
        TRY_STATUS(place(calibration, entry, std::move(values), path));
    }
    for (const auto& [layer, moments] : calibration.experts)
        if (moments.rows.empty() || moments.down.empty() ||
            moments.down.size() % moments.rows.size() != 0)
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: experts of layer {}: {} values of down for {} experts",
                                    path, layer, moments.down.size(), moments.rows.size()));
    return calibration;
}

}  // namespace colibri
