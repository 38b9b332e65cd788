#include "text/jinja/json_input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace colibri::jinja {
namespace {

using Json = nlohmann::ordered_json;

Result<Value> convert(const Json& json, bool is_trusted, size_t depth, Heap& heap) {
    if (depth > kValueDepthMax) {
        return fail(ErrorKind::invalid_input,
                    fmt::format("the JSON nests deeper than {} levels", kValueDepthMax));
    }
    switch (json.type()) {
        case Json::value_t::null: return Value::none();
        case Json::value_t::boolean: return Value::boolean(json.get_ref<const bool&>());
        case Json::value_t::number_integer:
            return Value::integer(json.get_ref<const Json::number_integer_t&>());
        case Json::value_t::number_unsigned:
            return Value::integer(json.get_ref<const Json::number_unsigned_t&>());
        case Json::value_t::number_float:
            return Value::floating(json.get_ref<const Json::number_float_t&>());
        case Json::value_t::string:
            return heap.string(json.get_ref<const std::string&>(), !is_trusted);
        case Json::value_t::array: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const Json& item : json) {
                TRY(Value value, convert(item, is_trusted, depth + 1, heap));
                items.push_back(std::move(value));
            }
            return heap.list(std::move(items));
        }
        case Json::value_t::object: {
            std::vector<DictEntry> entries;
            entries.reserve(json.size());
            for (const auto& item : json.items()) {
                TRY(Value key, heap.string(item.key(), !is_trusted));
                TRY(Value value, convert(item.value(), is_trusted, depth + 1, heap));
                entries.emplace_back(std::move(key), std::move(value));
            }
            return heap.dict(std::move(entries));
        }
        case Json::value_t::binary:
        case Json::value_t::discarded: break;
    }
    return fail(ErrorKind::invalid_input, "binary or discarded JSON has no template value");
}

}  // namespace

Result<Value> value_from_json(const Json& json, bool is_trusted, Heap& heap) {
    return convert(json, is_trusted, 0, heap);
}

}  // namespace colibri::jinja
