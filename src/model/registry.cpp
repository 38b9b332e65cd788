#include "model/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "model/families/common.h"
#include "model/families/families.h"

namespace colibri {

namespace {

constexpr size_t kKeysShownMax = 20;

struct Family {
    std::string_view model_type;
    // A key that tells this family from an unrelated one of the same name; empty: none is needed.
    std::string_view telling_key;
    Result<ModelSpec> (*spec)(const Config&, Notices&);
};

constexpr Family kFamilies[] = {
    {"glm_moe_dsa", "", glm_moe_dsa_spec},
    {"glm5_moe", "", glm_moe_dsa_spec},
    // The existing engine's name; plain dense GLM models are called the same.
    {"glm", "kv_lora_rank", glm_moe_dsa_spec},
    {"olmoe", "", olmoe_spec},
};

}  // namespace

std::vector<std::string> supported_model_types() {
    std::vector<std::string> names;
    for (const Family& family : kFamilies) names.emplace_back(family.model_type);
    return names;
}

Result<ModelSpec> spec_from_config(const Config& config, Notices& notices) {
    TRY(const std::string model_type, config.text_or("model_type", ""));
    const auto* family =
        std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& candidate) {
            return candidate.model_type == model_type &&
                   (candidate.telling_key.empty() || config.peek(candidate.telling_key));
        });
    if (family == std::end(kFamilies))
        return config.wrong("model_type",
                            fmt::format("one of {}", fmt::join(supported_model_types(), ", ")),
                            ErrorKind::unsupported);
    ignore_neutral_keys(config);
    TRY(ModelSpec spec, family->spec(config, notices));
    if (std::vector<std::string> unread = config.unread(); !unread.empty()) {
        const size_t count = unread.size();
        unread.resize(std::min(count, kKeysShownMax));
        notices.add(fmt::format(
            "{}: unknown keys are ignored: {}{}", config.file(), fmt::join(unread, ", "),
            count > kKeysShownMax ? fmt::format(" and {} more", count - kKeysShownMax) : ""));
    }
    return spec;
}

}  // namespace colibri
