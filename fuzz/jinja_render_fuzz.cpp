// A template, and after a zero byte a JSON object of variables: rendering ends within its bounds,
// in a text whose input ranges are sorted, disjoint and inside it.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "text/jinja/render_fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colibri;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const size_t zero = bytes.find('\0');
    auto variables = nlohmann::ordered_json::object();
    if (zero != std::string_view::npos) {
        auto parsed = nlohmann::ordered_json::parse(bytes.substr(zero + 1), nullptr, false);
        if (parsed.is_object()) variables = std::move(parsed);
    }
    const jinja::RenderLimits limits{.call_depth_max = 1'000,
                                     .steps_max = 200'000,
                                     .value_bytes_max = size_t{8} << 20U,
                                     .string_bytes_max = size_t{1} << 20U};
    const auto text = jinja::render_fixture(bytes.substr(0, zero), variables, limits);
    if (!text) return 0;
    CHECK(text->size() <= limits.string_bytes_max);
    size_t at = 0;
    for (const ByteRange& range : text->input_ranges()) {
        CHECK(range.begin < range.end);
        CHECK(at == 0 ? range.begin >= at : range.begin > at);
        at = range.end;
    }
    CHECK(at <= text->size());
    return 0;
}
