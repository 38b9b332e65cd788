// config.json to a spec, its tensors and its description: any text ends in a bounded spec or an
// error.
#include <cstdint>
#include <string_view>

#include "model/registry.h"
#include "model/tensor_needs.h"

using namespace colibri;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const auto config = Config::parse({reinterpret_cast<const char*>(bytes), size}, "fuzz");
    if (!config) return 0;
    Notices notices;
    const auto spec = spec_from_config(*config, notices);
    if (!spec) {
        if (spec.error().message.empty()) __builtin_trap();
        return 0;
    }
    for (const TensorNeed& need : tensor_needs(*spec))
        if (need.rows == 0 || need.name.empty()) __builtin_trap();
    if (count_parameters(*spec).total() == 0 || describe(*spec).empty()) __builtin_trap();
    return 0;
}
