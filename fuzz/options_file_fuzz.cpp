// Configuration files, lines and JSON: any text ends in an error that names the place, or in
// entries with unique keys; what is then given to the options is checked there.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "apps/config_file.h"
#include "apps/options.h"

using namespace colibri;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const auto entries = parse_config({reinterpret_cast<const char*>(bytes), size}, "coli.conf");
    if (!entries) {
        if (entries.error().message.find("coli.conf") == std::string::npos) __builtin_trap();
        return 0;
    }
    std::set<std::string> keys;
    Settings settings;
    for (const ConfigEntry& entry : *entries) {
        if (!keys.insert(entry.key).second || entry.where.empty()) __builtin_trap();
        for (const OptionSpec& option : option_table()) {
            if (option.name != entry.key) continue;
            const auto set = apply_source(settings, option, entry.value, Source::file, entry.where);
            if (set.has_value() != (settings.at(option.id).source == Source::file))
                __builtin_trap();
        }
    }
    return 0;
}
