// For tests and fuzz targets: a template rendered with a JSON object as its variables.
#pragma once

#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/json_input.h"

namespace colibri::jinja {

// 2025-07-04 15:05:09, a Friday.
[[nodiscard]] inline std::tm fixture_time() {
    std::tm time{};
    time.tm_year = 125;
    time.tm_mon = 6;
    time.tm_mday = 4;
    time.tm_hour = 15;
    time.tm_min = 5;
    time.tm_sec = 9;
    time.tm_wday = 5;
    time.tm_yday = 184;
    return time;
}

// Every string of `variables` counts as input.
[[nodiscard]] inline Result<TrackedText> render_fixture(std::string_view source,
                                                        const nlohmann::ordered_json& variables,
                                                        const RenderLimits& limits = {}) {
    TRY(const TemplateTree tree, parse_template(source, "test.jinja"));
    const std::tm now = fixture_time();
    Heap heap(limits);
    Evaluator evaluator(tree, heap, now);
    for (const auto& item : variables.items()) {
        TRY(Value value, value_from_json(item.value(), false, heap));
        evaluator.set_global(item.key(), std::move(value));
    }
    return evaluator.render();
}

}  // namespace colibri::jinja
