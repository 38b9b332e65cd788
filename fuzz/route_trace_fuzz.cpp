// Route traces: any text ends in an error, or in a trace that is within its own bounds and comes
// back the same when it is written and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "format/route_trace.h"

using namespace colibri;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const auto trace = parse_route_trace({reinterpret_cast<const char*>(bytes), size}, "fuzz");
    if (!trace) return 0;
    for (const RouteTrace::Step& step : trace->steps) {
        if (step.layer >= trace->layers.size() || step.choice_count == 0) __builtin_trap();
        for (const RouteTrace::Choice& choice : trace->choices_of(step))
            if (choice.expert >= trace->experts) __builtin_trap();
    }
    const std::string text = format_route_trace(*trace);
    const auto again = parse_route_trace(text, "again");
    if (!again || format_route_trace(*again) != text) __builtin_trap();
    return 0;
}
