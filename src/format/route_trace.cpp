#include "format/route_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

namespace colibri {

namespace {

constexpr std::string_view kTraceMagic = "# route_trace ";
constexpr std::string_view kTraceVersion = "v1";
constexpr std::string_view kColumns =
    "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes";
constexpr size_t kColumnCount = 9;
constexpr size_t kQuotedMax = 60;  // of a bad line in a message

template <class T>
std::optional<T> number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The value of ` key=value ` in a header line.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
    for (size_t at = 0; at < line.size();) {
        const size_t end = std::min(line.find(' ', at), line.size());
        const std::string_view word = line.substr(at, end - at);
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
            return word.substr(key.size() + 1);
        at = end + 1;
    }
    return std::nullopt;
}

class Parser {
public:
    explicit Parser(std::string_view name) : name_(name) {}

    Result<RouteTrace> run(std::string_view text) {
        while (!text.empty()) {
            const size_t end = std::min(text.find('\n'), text.size());
            std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            ++line_number_;
            if (line.ends_with('\r')) line.remove_suffix(1);
            TRY_STATUS(take(line));
        }
        if (!has_columns_) return bad(fmt::format("the line of columns ({}) is missing", kColumns));
        return std::move(trace_);
    }

private:
    tl::unexpected<Error> bad(std::string_view what,
                              ErrorKind kind = ErrorKind::invalid_input) const {
        return fail(kind, fmt::format("{}, line {}: {}", name_, line_number_, what));
    }

    Status take(std::string_view line) {
        if (line_number_ == 1) {
            if (!line.starts_with(kTraceMagic))
                return bad(
                    fmt::format("'{}' is not the beginning of a route trace, which is '{}{}'",
                                line.substr(0, kQuotedMax), kTraceMagic, kTraceVersion));
            if (line.substr(kTraceMagic.size()) != kTraceVersion)
                return bad(fmt::format("version '{}' of route traces; this program reads {}",
                                       line.substr(kTraceMagic.size(), kQuotedMax), kTraceVersion),
                           ErrorKind::unsupported);
            return {};
        }
        if (line.empty()) return {};
        if (line.front() == '#') return has_columns_ ? Status() : take_header(line);
        if (has_columns_) return take_choice(line);
        if (line != kColumns)
            return bad(fmt::format("'{}' instead of the columns {}", line.substr(0, kQuotedMax),
                                   kColumns));
        if (trace_.experts == 0)
            return bad("no header line names n_layer, n_expert and n_expert_used");
        has_columns_ = true;
        last_use_.assign(trace_.layers.size() * trace_.experts, 0);
        return {};
    }

    Status take_header(std::string_view line) {
        if (const auto model = value_of(line, "model")) return take_model(line, *model);
        const auto layer_text = value_of(line, "layer");
        if (!layer_text) return {};
        const auto layer = number<uint32_t>(*layer_text);
        if (!layer || *layer >= trace_.layers.size())
            return bad(fmt::format("layer '{}' of {}", layer_text->substr(0, kQuotedMax),
                                   trace_.layers.size()));
        const auto expert_bytes = number<uint64_t>(value_of(line, "expert_bytes").value_or(""));
        const auto dense_bytes = number<uint64_t>(value_of(line, "dense_bytes").value_or("0"));
        if (!expert_bytes || !dense_bytes)
            return bad("expert_bytes and dense_bytes must be whole numbers");
        trace_.layers[*layer] = {.expert_bytes = *expert_bytes, .dense_bytes = *dense_bytes};
        return {};
    }

    Status take_model(std::string_view line, std::string_view model) {
        if (trace_.experts != 0) return bad("a second model");
        const auto count = [&](std::string_view key, uint32_t most) -> Result<uint32_t> {
            const std::string_view text = value_of(line, key).value_or("");
            const auto value = number<uint32_t>(text);
            if (!value || *value == 0 || *value > most)
                return bad(fmt::format("{} is '{}', expected a number from 1 to {}", key,
                                       text.substr(0, kQuotedMax), most));
            return *value;
        };
        TRY(const uint32_t layers, count("n_layer", kTraceLayersMax));
        TRY(const uint32_t experts, count("n_expert", kTraceExpertsMax));
        TRY(trace_.experts_used, count("n_expert_used", experts));
        if (uint64_t(layers) * experts > kTraceCellsMax)
            return bad(fmt::format("{} layers of {} experts; at most {} experts in all", layers,
                                   experts, kTraceCellsMax));
        trace_.model = model;
        trace_.arch = value_of(line, "arch").value_or("");
        trace_.experts = experts;
        trace_.layers.resize(layers);
        return {};
    }

    Status take_choice(std::string_view line) {
        std::array<std::string_view, kColumnCount> field;
        size_t count = 0;
        for (size_t at = 0; at <= line.size() && count <= kColumnCount; ++count) {
            const size_t end = std::min(line.find(',', at), line.size());
            if (count < kColumnCount) field[count] = line.substr(at, end - at);
            at = end + 1;
        }
        if (count != kColumnCount)
            return bad(fmt::format("'{}' does not have the {} columns {}",
                                   line.substr(0, kQuotedMax), kColumnCount, kColumns));
        std::array<uint32_t, 6> key{};  // turn, phase, step, layer, slot, expert
        for (size_t i = 0; i < key.size(); ++i) {
            const auto value = number<uint32_t>(field[i]);
            if (!value)
                return bad(fmt::format("column {} is '{}', expected a whole number", i + 1,
                                       field[i].substr(0, kQuotedMax)));
            key[i] = *value;
        }
        const auto weight = number<float>(field[6]);
        const auto resident = number<uint32_t>(field[7]);
        const auto bytes = number<uint64_t>(field[8]);
        if (!weight || !std::isfinite(*weight) || !resident || *resident > 1 || !bytes ||
            key[1] > 1)
            return bad(
                fmt::format("'{}': phase and residency are 0 or 1, weight is a finite "
                            "number, expert_bytes a whole one",
                            line.substr(0, kQuotedMax)));
        return add(key, {.expert = key[5],
                         .weight = *weight,
                         .resident = *resident == 1,
                         .read_bytes = *bytes});
    }

    Status add(const std::array<uint32_t, 6>& key, const RouteTrace::Choice& choice) {
        const auto [turn, phase, position, layer, slot, expert] = key;
        if (layer >= trace_.layers.size() || expert >= trace_.experts)
            return bad(fmt::format("layer {} expert {}; the header has {} layers of {} experts",
                                   layer, expert, trace_.layers.size(), trace_.experts));
        RouteTrace::Step step{.turn = turn,
                              .decode = phase == 1,
                              .position = position,
                              .layer = layer,
                              .first_choice = uint32_t(trace_.choices.size())};
        if (slot == 0) trace_.steps.push_back(step);
        const bool same = !trace_.steps.empty() && trace_.steps.back().turn == turn &&
                          trace_.steps.back().decode == step.decode &&
                          trace_.steps.back().position == position &&
                          trace_.steps.back().layer == layer;
        if (!same || trace_.steps.back().choice_count != slot)
            return bad(fmt::format("slot {} does not follow the line before", slot));
        uint32_t& last_use = last_use_[size_t(layer) * trace_.experts + expert];
        if (last_use == trace_.steps.size())
            return bad(fmt::format("expert {} twice in a step", expert));
        last_use = uint32_t(trace_.steps.size());
        ++trace_.steps.back().choice_count;
        trace_.choices.push_back(choice);
        return {};
    }

    // Of all layers together: bounds the parser's table.
    static constexpr uint64_t kTraceCellsMax = 1 << 22;

    std::string_view name_;
    uint64_t line_number_ = 0;
    bool has_columns_ = false;
    std::vector<uint32_t> last_use_;  // of each (layer, expert): number of the step, from 1
    RouteTrace trace_;
};

}  // namespace

Result<RouteTrace> parse_route_trace(std::string_view text, std::string_view name) {
    if (text.size() > kTraceBytesMax)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{} has {} bytes; at most {}", name, text.size(), kTraceBytesMax));
    return Parser(name).run(text);
}

std::string format_route_trace(const RouteTrace& trace) {
    std::string text;
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "{}{}\n# model={} arch={} n_layer={} n_expert={} n_expert_used={}\n",
                   kTraceMagic, kTraceVersion, trace.model, trace.arch, trace.layers.size(),
                   trace.experts, trace.experts_used);
    for (size_t layer = 0; layer < trace.layers.size(); ++layer)
        fmt::format_to(out, "# layer={} expert_bytes={} dense_bytes={}\n", layer,
                       trace.layers[layer].expert_bytes, trace.layers[layer].dense_bytes);
    fmt::format_to(out, "{}\n", kColumns);
    for (const RouteTrace::Step& step : trace.steps) {
        uint32_t slot = 0;
        for (const RouteTrace::Choice& choice : trace.choices_of(step))
            fmt::format_to(out, "{},{},{},{},{},{},{},{},{}\n", step.turn, step.decode ? 1 : 0,
                           step.position, step.layer, slot++, choice.expert, choice.weight,
                           choice.resident ? 1 : 0, choice.read_bytes);
    }
    return text;
}

}  // namespace colibri
