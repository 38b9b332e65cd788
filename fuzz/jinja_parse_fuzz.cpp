// Any bytes as a template: parsing ends in a tree or in an error that names a place, within bounded
// depth.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/jinja/ast.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    const auto tree = colibri::jinja::parse_template(source, "fuzz.jinja");
    if (!tree) CHECK(tree.error().message.starts_with("fuzz.jinja:"));
    return 0;
}
