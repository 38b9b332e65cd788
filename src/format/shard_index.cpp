#include "format/shard_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "format/limits.h"

namespace colibri {

namespace {

using nlohmann::json;

constexpr size_t kIndexDepthMax = 32;

bool plain_file_name(std::string_view name) {
    return name.size() <= kNameBytesMax && name.ends_with(".safetensors") &&
           !name.starts_with('.') &&
           name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

// Keeps weight_map and passes over everything else.
class IndexReader final : public json::json_sax_t {
public:
    std::string problem;
    std::map<std::string, uint32_t> files;
    std::vector<std::pair<std::string, uint32_t>> tensors;
    bool map_seen = false;

    bool null() override { return other("null"); }
    bool boolean(bool) override { return other("a boolean"); }
    bool number_integer(json::number_integer_t) override { return other("a number"); }
    bool number_unsigned(json::number_unsigned_t) override { return other("a number"); }
    bool number_float(json::number_float_t, const std::string&) override {
        return other("a number");
    }
    bool binary(json::binary_t&) override { return other("binary data"); }
    bool string(std::string& value) override {
        if (!in_map()) return other("a string");
        if (!plain_file_name(value))
            return stop(
                fmt::format("weight_map names the file \"{:.200}\", expected the plain name of a "
                            "*.safetensors file",
                            value));
        const auto [file, added] = files.emplace(std::move(value), uint32_t(files.size()));
        if (added && files.size() > kFilesMax)
            return stop(fmt::format("more than {} files are named", kFilesMax));
        tensors.emplace_back(std::move(key_), file->second);
        return true;
    }
    bool start_object(std::size_t) override {
        if (depth_ == 1 && key_ == "weight_map") {
            if (map_seen) return stop("weight_map appears twice");
            map_seen = true;
            map_open_ = true;
        } else if (in_map()) {
            return other("an object");
        }
        return deeper();
    }
    bool end_object() override {
        if (in_map()) map_open_ = false;
        --depth_;
        return true;
    }
    bool start_array(std::size_t) override {
        if (depth_ == 0 || in_map()) return other("an array");
        return deeper();
    }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool key(std::string& value) override {
        if (in_map() && value.size() > kNameBytesMax)
            return stop(fmt::format("a tensor name has {} bytes, expected at most {}", value.size(),
                                    kNameBytesMax));
        key_ = std::move(value);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        if (problem.empty())
            problem = fmt::format("not valid JSON at byte {} ({})", position, error.what());
        return false;
    }

private:
    [[nodiscard]] bool in_map() const { return map_open_ && depth_ == 2; }
    bool stop(std::string what) {
        problem = std::move(what);
        return false;
    }
    bool other(std::string_view found) {
        if (depth_ == 0) return stop(fmt::format("found {}, expected an object", found));
        if (in_map())
            return stop(fmt::format("weight_map entry {:.200}: found {}, expected a file name",
                                    key_, found));
        if (depth_ == 1 && key_ == "weight_map")
            return stop(fmt::format("weight_map is {}, expected an object", found));
        return true;
    }
    bool deeper() {
        if (++depth_ > kIndexDepthMax)
            return stop(fmt::format("nested deeper than {} levels", kIndexDepthMax));
        return true;
    }

    std::string key_;
    size_t depth_ = 0;
    bool map_open_ = false;
};

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view text, const std::string& path) {
    IndexReader reader;
    if (!json::sax_parse(text.begin(), text.end(), &reader))
        return fail(ErrorKind::corrupt, fmt::format("{}: {}", path, reader.problem));
    if (!reader.map_seen)
        return fail(ErrorKind::corrupt, fmt::format("{}: weight_map is missing", path));
    ShardIndex index;
    std::vector<uint32_t> sorted_place(reader.files.size());
    for (const auto& [name, number] : reader.files) {
        sorted_place[number] = uint32_t(index.files.size());
        index.files.push_back(name);
    }
    index.tensors = std::move(reader.tensors);
    for (auto& [name, file] : index.tensors) file = sorted_place[file];
    std::sort(index.tensors.begin(), index.tensors.end());
    for (size_t i = 1; i < index.tensors.size(); ++i)
        if (index.tensors[i - 1].first == index.tensors[i].first)
            return fail(ErrorKind::corrupt,
                        fmt::format("{}: weight_map names tensor {} twice (duplicate key)", path,
                                    index.tensors[i].first));
    return index;
}

}  // namespace colibri
