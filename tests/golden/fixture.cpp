#include "tests/golden/fixture.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "format/safetensors.h"
#include "platform/file.h"

namespace colibri::golden {

namespace {

std::vector<int32_t> ints(const nlohmann::json& row, const char* key) {
    return row.contains(key) ? row[key].get<std::vector<int32_t>>() : std::vector<int32_t>{};
}

}  // namespace

Result<Fixture> load_fixture(const std::string& directory) {
    Fixture fixture{.directory = directory};
    TRY(const std::string text, read_file(directory + "/oracle.json", 64 << 20));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded())
        return fail(ErrorKind::corrupt, directory + "/oracle.json is not JSON");
    fixture.exact_greedy = json.value("exact_greedy", true);
    for (const auto& row : json["cases"])
        fixture.cases.push_back({.prompt = ints(row, "prompt"),
                                 .argmax = ints(row, "argmax"),
                                 .greedy = ints(row, "greedy"),
                                 .drafts = ints(row, "drafts"),
                                 .bonus = row.value("bonus", -1),
                                 .first_logit_row = row.value("first_logit_row", 0U),
                                 .smallest_gap = row.value("greedy_smallest_relative_gap", 0.0)});
    TRY(const auto file, File::open(directory + "/oracle.safetensors"));
    TRY(const SafetensorsHeader header, read_safetensors_header(*file));
    for (const SafetensorsEntry& entry : header.tensors) {
        Array array{.shape = entry.shape};
        if (entry.dtype == DType::f32)
            array.floats.resize(entry.size_bytes / 4);
        else
            array.ints.resize(entry.size_bytes / 4);
        void* into = entry.dtype == DType::f32 ? static_cast<void*>(array.floats.data())
                                               : static_cast<void*>(array.ints.data());
        TRY_STATUS(file->read_at(entry.offset, {static_cast<std::byte*>(into), entry.size_bytes}));
        fixture.arrays.emplace(entry.name, std::move(array));
    }
    return fixture;
}

}  // namespace colibri::golden
