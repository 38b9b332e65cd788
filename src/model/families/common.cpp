#include "model/families/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace colibri {

namespace {

constexpr uint64_t kMatrixRowsMax = uint64_t(1) << 31;
constexpr uint64_t kMatrixElementsMax = uint64_t(1) << 40;

Status check_text(const Config& config, std::string_view key,
                  std::initializer_list<std::string_view> known) {
    if (!config.has(key)) return {};
    TRY(const std::string value, config.text(key));
    if (std::find(known.begin(), known.end(), value) != known.end()) return {};
    return config.wrong(key, fmt::format("\"{}\"", fmt::join(known, "\" or \"")),
                        ErrorKind::unsupported);
}

Status check_false(const Config& config, std::string_view key) {
    TRY(const bool value, config.flag_or(key, false));
    if (value) return config.wrong(key, "false", ErrorKind::unsupported);
    return {};
}

// Whether a tensor is FP8 is decided by the tensor; the config only has to name a method that is
// understood.
Status check_quantization(const Config& config) {
    TRY(const std::optional<Config> section, config.section("quantization_config"));
    if (!section) return {};
    TRY(const std::string method, section->text("quant_method"));
    if (method != "fp8") return section->wrong("quant_method", "\"fp8\"", ErrorKind::unsupported);
    TRY_STATUS(check_text(*section, "fmt", {"e4m3", "float8_e4m3fn"}));
    TRY_STATUS(check_text(*section, "activation_scheme", {"dynamic"}));
    TRY(const auto block, section->counts("weight_block_size"));
    if (!block || *block != std::vector<uint32_t>{128, 128})
        return section->wrong("weight_block_size", "[128, 128]", ErrorKind::unsupported);
    section->ignore({"modules_to_not_convert", "ignored_layers", "scale_fmt", "dequantize"});
    return {};
}

}  // namespace

void ignore_neutral_keys(const Config& config) {
    config.ignore({"architectures",
                   "auto_map",
                   "_name_or_path",
                   "name_or_path",
                   "transformers_version",
                   "use_cache",
                   "initializer_range",
                   "output_router_logits",
                   "output_attentions",
                   "output_hidden_states",
                   "return_dict",
                   "attention_dropout",
                   "hidden_dropout",
                   "router_aux_loss_coef",
                   "aux_loss_alpha",
                   "router_z_loss_coef",
                   "seq_aux",
                   "ep_size",
                   "pretraining_tp",
                   "moe_router_dtype",
                   "dtype",
                   "torch_dtype",
                   "_attn_implementation",
                   "_commit_hash",
                   "problem_type",
                   "tokenizer_class",
                   "id2label",
                   "label2id",
                   "is_encoder_decoder",
                   "chunk_size_feed_forward",
                   "prefix"});
}

Status check_common_maths(const Config& config) {
    TRY_STATUS(check_text(config, "hidden_act", {"silu"}));
    TRY_STATUS(check_false(config, "attention_bias"));
    TRY_STATUS(check_false(config, "mlp_bias"));
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
        TRY_STATUS(check_text(config, key,
                              {"bfloat16", "float16", "float32", "float8_e4m3fn", "torch.bfloat16",
                               "torch.float16", "torch.float32"}));
    }
    return check_quantization(config);
}

Result<Rope> plain_rope(const Config& config, uint32_t dims, RopePairing pairing) {
    if (dims < 2 || dims % 2 != 0)
        return fail(
            ErrorKind::invalid_input,
            fmt::format(
                "{}: {} elements of a head are rotated, expected an even number of at least 2",
                config.file(), dims));
    Rope rope{.dims = dims, .pairing = pairing};
    TRY(const std::optional<Config> parameters, config.section("rope_parameters"));
    TRY(const std::optional<Config> scaling, config.section("rope_scaling"));
    for (const std::optional<Config>& section : {parameters, scaling}) {
        if (!section) continue;
        TRY_STATUS(check_text(*section, "rope_type", {"default"}));
        TRY_STATUS(check_text(*section, "type", {"default"}));
        TRY(const double factor, section->number_or("factor", 1.0));
        if (factor != 1.0)
            return section->wrong("factor", "1.0 in this family", ErrorKind::unsupported);
        TRY(const double part, section->number_or("partial_rotary_factor", 1.0));
        if (part != 1.0)
            return section->wrong("partial_rotary_factor", "1.0 in this family",
                                  ErrorKind::unsupported);
    }
    // Explicit parameters win over the older top-level key. A guessed theta would give fluent
    // nonsense.
    const Config& holder = parameters && parameters->peek("rope_theta") ? *parameters : config;
    config.ignore({"rope_theta"});
    TRY(rope.theta, holder.number("rope_theta"));
    if (!(rope.theta > 1.0)) return holder.wrong("rope_theta", "a number above 1");
    return rope;
}

Status read_token_ids(const Config& config, Notices& notices, ModelSpec& spec) {
    const auto in_vocabulary = [&](std::string_view key, std::vector<int32_t> ids) {
        std::erase_if(ids, [&](int32_t id) {
            const bool outside = uint32_t(id) >= spec.vocab;
            if (outside)
                notices.add(fmt::format("{}: {} {} is outside the vocabulary of {} and is ignored",
                                        config.file(), key, id, spec.vocab));
            return outside;
        });
        return ids;
    };
    TRY(std::vector<int32_t> eos, config.token_ids("eos_token_id"));
    spec.eos_ids = in_vocabulary("eos_token_id", std::move(eos));
    for (const auto& [key, id] :
         {std::pair{"bos_token_id", &spec.bos_id}, {"pad_token_id", &spec.pad_id}}) {
        // -1 is a common way to write "none".
        if (config.found(key) == "-1") {
            config.ignore({key});
            continue;
        }
        TRY(std::vector<int32_t> ids, config.token_ids(key));
        if (ids.size() > 1) return config.wrong(key, "one token id");
        ids = in_vocabulary(key, std::move(ids));
        if (!ids.empty()) *id = ids.front();
    }
    return {};
}

Result<Norm> rms_norm(const Config& config, std::string_view key, double fallback) {
    TRY(const double eps, config.number_or(key, fallback));
    if (!(eps > 0.0 && eps < 1.0)) return config.wrong(key, "a number between 0 and 1");
    return Norm{.kind = NormKind::rms, .eps = float(eps)};
}

Result<std::vector<std::string>> layer_list(const Config& config, std::string_view key,
                                            uint32_t layers,
                                            std::initializer_list<std::string_view> allowed) {
    TRY(std::optional<std::vector<std::string>> list, config.texts(key));
    if (!list) return std::vector<std::string>{};
    if (list->size() != layers)
        return fail(ErrorKind::invalid_input,
                    fmt::format("{}: {} has {} entries, expected {} (num_hidden_layers)",
                                config.file(), key, list->size(), layers));
    for (size_t i = 0; i < list->size(); ++i)
        if (std::find(allowed.begin(), allowed.end(), (*list)[i]) == allowed.end())
            return fail(ErrorKind::unsupported,
                        fmt::format("{}: {}[{}] is \"{:.40}\", expected \"{}\"", config.file(), key,
                                    i, (*list)[i], fmt::join(allowed, "\" or \"")));
    return *std::move(list);
}

tl::unexpected<Error> inconsistent(const Config& config, std::string_view key,
                                   std::string_view expected) {
    return config.wrong(key, expected);
}

Status check_matrix(const Config& config, std::string_view what, uint64_t rows, uint64_t columns) {
    if (rows <= kMatrixRowsMax && columns <= kMatrixRowsMax && rows * columns <= kMatrixElementsMax)
        return {};
    return fail(
        ErrorKind::invalid_input,
        fmt::format(
            "{}: {} would have {} x {} elements, expected at most {} on a side and {} in all",
            config.file(), what, rows, columns, kMatrixRowsMax, kMatrixElementsMax));
}

}  // namespace colibri
