#include "format/format_stamp.h"

#include <nlohmann/json.hpp>

namespace colibri {

std::optional<std::string> format_stamp(const Checkpoint& checkpoint, const TensorInfo& tensor) {
    for (const auto& [key, text] : checkpoint.files()[tensor.file].metadata) {
        if (key != "colibri.fmt") continue;
        const auto map = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
        if (!map.is_object()) return std::nullopt;
        const auto found = map.find(std::string(tensor.name));
        if (found == map.end() || !found->is_string()) return std::nullopt;
        return found->get<std::string>();
    }
    return std::nullopt;
}

}  // namespace colibri
