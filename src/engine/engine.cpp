#include "colibri/engine.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>

#include "base/units.h"
#include "decode/sampler.h"
#include "engine/engine_impl.h"
#include "text/encode_prompt.h"

namespace colibri {

namespace {

Result<const Kernels*> choose_kernels(const std::string& name) {
    if (name.empty() || name == "auto") return &best_kernels();
    const auto isa = isa_from_string(name);
    const Kernels* kernels = isa ? kernels_for(*isa) : nullptr;
    if (kernels != nullptr) return kernels;
    std::string list;
    for (const Isa available : available_isas()) list += fmt::format(" {}", to_string(available));
    return fail(ErrorKind::unsupported, fmt::format("--isa {}: this machine runs:{}", name, list));
}

Result<ReaderKind> choose_reader_kind(const std::string& name) {
    if (name.empty()) return ReaderKind::automatic;
    for (const ReaderKind kind :
         {ReaderKind::automatic, ReaderKind::uring, ReaderKind::pread, ReaderKind::buffered})
        if (name == to_string(kind)) return kind;
    return fail(ErrorKind::invalid_input,
                fmt::format("--reader {}: expected auto, uring, pread or buffered", name));
}

std::tm local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    return local;
}

PrefetchMode prefetch_mode(Prefetch prefetch) {
    switch (prefetch) {
        case Prefetch::automatic: return PrefetchMode::automatic;
        case Prefetch::on: return PrefetchMode::on;
        case Prefetch::off: return PrefetchMode::off;
    }
    return PrefetchMode::automatic;
}

Result<ModelOptions> model_options(const EngineOptions& options, const ModelFiles& files) {
    TRY(const Kernels* kernels, choose_kernels(options.isa));
    TRY(const ReaderKind reader, choose_reader_kind(options.reader));
    std::vector<MirrorOptions> mirrors;
    for (const MirrorDirectory& mirror : options.mirrors)
        mirrors.push_back({.directory = mirror.directory, .bytes_per_s = mirror.bytes_per_s});
    return ModelOptions{
        .directory = options.model_directory,
        .ram_budget_bytes = options.ram_budget_bytes,
        .extra_bytes = files.tokenizer ? files.tokenizer->memory_bytes() : 0,
        .context = options.context,
        .float_activations = options.activations == Activations::f32,
        .kernels = kernels,
        .threads = options.threads,
        .prefill_slice = options.prefill_slice,
        .draft_head = options.draft_head,
        .dense_attention = options.dense_attention,
        .policy = options.policy == CachePolicy::lru ? PolicyKind::lru : PolicyKind::frequency,
        .reader = reader,
        .in_flight_bytes = options.in_flight_bytes,
        .chunk_bytes = options.chunk_bytes,
        .split_directories = options.split_directories,
        .mirrors = std::move(mirrors),
        .prefetch = prefetch_mode(options.prefetch),
        .state_directory = options.state_directory,
        .fallback_state_directory = options.fallback_state_directory,
        .warm = options.warm};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const EngineOptions& options, Notices& notices) {
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    TRY(impl->files,
        read_model_files(options.model_directory, options.tokenizer_required, notices));
    TRY(ModelOptions model, model_options(options, impl->files));
    if (options.progress)
        model.progress = [&](std::string_view step, uint64_t done, uint64_t total) {
            options.progress({.step = step, .done_bytes = done, .total_bytes = total});
        };
    TRY(impl->model, Model::open(model, notices));
    std::vector<int32_t> ends = impl->model->spec().eos_ids;
    ends.insert(ends.end(), impl->files.extra_eos.begin(), impl->files.extra_eos.end());
    impl->end_tokens = EndTokens(std::move(ends));
    if (impl->files.chat_template) impl->think_tags = impl->files.chat_template->think_tags();
    return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Result<MemoryPlan> Engine::plan_only(const EngineOptions& options, Notices& notices) {
    TRY(const ModelFiles files,
        read_model_files(options.model_directory, options.tokenizer_required, notices));
    TRY(const ModelOptions model, model_options(options, files));
    return Model::plan_only(model, notices);
}

// A drive that fails again after it had come back is worth another line: its events are not among
// the notices that are said once.
std::vector<std::string> Engine::Impl::take_notices() {
    std::vector<std::string> all = notices.take();
    all.insert(all.end(), std::make_move_iterator(lines.begin()),
               std::make_move_iterator(lines.end()));
    lines.clear();
    for (StorageEvent& event : model->store().take_storage_events())
        all.push_back(std::move(event.text));
    return all;
}

void Engine::Impl::serve(MemoryRequests& requests) {
    auto [restore, halvings] = requests.take();
    if (!restore && halvings == 0) return;
    if (restore) model->restore_cache();
    for (; halvings > 0 && !model->cache_size().is_smallest(); --halvings) model->halve_cache();
    const CacheSize size = model->cache_size();
    lines.push_back(fmt::format("the expert cache has {} of {} slots now, {} of {}{}", size.slots,
                                size.planned_slots, format_bytes(size.bytes),
                                format_bytes(size.planned_bytes),
                                size.slots == size.planned_slots ? ", all that were planned"
                                : size.is_smallest()             ? ", the fewest that work"
                                                                 : ""));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const ModelSpec& Engine::spec() const {
    return impl_->model->spec();
}
const MemoryPlan& Engine::plan() const {
    return impl_->model->plan();
}
const Tokenizer* Engine::tokenizer() const {
    return impl_->files.tokenizer ? &*impl_->files.tokenizer : nullptr;
}
Model& Engine::model() {
    return *impl_->model;
}
CacheSize Engine::cache_size() const {
    return impl_->model->cache_size();
}
void Engine::shrink_memory(uint64_t budget_bytes) {
    impl_->model->resize_cache(budget_bytes);
    const CacheSize size = impl_->model->cache_size();
    if (budget_bytes < size.smallest_total_bytes)
        impl_->lines.push_back(fmt::format(
            "a memory budget of {} is less than the smallest that works now, {}: the "
            "expert cache has {} slots, the fewest that work",
            format_bytes(budget_bytes), format_bytes(size.smallest_total_bytes), size.slots));
}
void Engine::halve_cache() {
    impl_->model->halve_cache();
}
void Engine::restore_cache() {
    impl_->model->restore_cache();
}
StorageReport Engine::storage() const {
    return impl_->model->store().storage();
}
std::vector<std::string> Engine::take_notices() {
    return impl_->take_notices();
}
bool Engine::has_chat_template() const {
    return impl_->files.chat_template.has_value();
}
SamplingOptions Engine::recommended_sampling() const {
    return impl_->files.sampling;
}

std::string Engine::start_line() const {
    const Model& model = *impl_->model;
    const bool f32 = impl_->options.activations == Activations::f32;
    std::string line =
        fmt::format("{}, {} layers, {}, isa {}, {} thread{}, activations {}", model.spec().family,
                    model.spec().layers.size(), model.formats(), to_string(model.kernels().isa),
                    model.threads(), model.threads() == 1 ? "" : "s", f32 ? "f32" : "auto");
    if (!f32 && model.formats().find("int") != std::string::npos)
        line += " (int8 for integer weights)";
    if (impl_->options.dense_attention) line += ", lossy: dense attention";
    return line;
}

Result<Prompt> Engine::render(std::span<const ChatMessage> messages,
                              const RenderOptions& options) const {
    if (tokenizer() == nullptr)
        return fail(ErrorKind::not_found, "this engine was opened without a tokenizer");
    if (!impl_->files.chat_template) {
        std::string text;
        for (const ChatMessage& message : messages)
            text += (text.empty() ? "" : "\n") + message.content;
        return raw_prompt(text, false);
    }
    ChatOptions chat{.think = options.think,
                     .special_tokens = impl_->files.template_tokens,
                     .now = local_time()};
    if (!options.reasoning_effort.empty()) chat.reasoning_effort = options.reasoning_effort;
    TRY(const ChatPrompt rendered, render_chat(*impl_->files.chat_template, messages, chat));
    Prompt prompt;
    TRY(prompt.tokens, encode_prompt(*tokenizer(), rendered.pieces));
    prompt.has_thinking_tags = impl_->think_tags.has_value();
    prompt.begins_in_reasoning = rendered.start == ReasoningStart::inside;
    prompt.reasoning_closed = rendered.start == ReasoningStart::closed;
    return prompt;
}

Result<Prompt> Engine::raw_prompt(std::string_view text, bool special_tokens) const {
    if (tokenizer() == nullptr)
        return fail(ErrorKind::not_found, "this engine was opened without a tokenizer");
    Prompt prompt;
    TRY(prompt.tokens, tokenizer()->encode(text, special_tokens ? SpecialTokens::recognized
                                                                : SpecialTokens::plain));
    if (prompt.tokens.empty()) return fail(ErrorKind::invalid_input, "the prompt is empty");
    return prompt;
}

}  // namespace colibri
