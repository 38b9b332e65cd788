// coli eval trace: everything a pass computes, in the shapes and under the names of the golden
// fixtures.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "apps/token_list.h"
#include "base/check.h"
#include "decode/sampler.h"
#include "format/npy.h"
#include "platform/file.h"

namespace colibri {

namespace {

template <class T>
Status write_array(const std::string& path, DType dtype, uint64_t rows, uint64_t columns,
                   const std::vector<T>& values) {
    CHECK(values.size() == rows * columns);
    TRY(auto file, NpyWriter::open(path, dtype, {rows, columns}));
    TRY_STATUS(file.append(std::as_bytes(std::span(values))));
    return file.close();
}

class Tracer {
public:
    Tracer(Model& model, std::vector<int32_t> prompt, std::filesystem::path directory,
           const Console& console)
        : model_(model),
          prompt_(std::move(prompt)),
          directory_(std::move(directory)),
          interrupts_(cancel_),
          progress_(console.err),
          state_(model.new_state()) {}

    Status trace(uint32_t greedy_count, uint32_t draft_count) {
        TRY_STATUS(run_prompt());
        TRY_STATUS(write_layers());
        // Drafts first: they read the prompt's hidden rows, the greedy run moves the state on.
        if (model_.has_draft_head()) TRY_STATUS(run_drafts(draft_count));
        TRY_STATUS(run_greedy(greedy_count));
        return write_choices();
    }

private:
    [[nodiscard]] std::string path(std::string_view name) const {
        return (directory_ / name).string();
    }

    ForwardOptions forward_options(LogitRows rows) {
        ForwardOptions options;
        options.logits = rows;
        options.cancel = &cancel_;
        options.on_progress = [this](uint32_t done, uint32_t total) {
            progress_.show(fmt::format("{} of {} tokens", done, total));
        };
        return options;
    }

    Status run_prompt() {
        const uint64_t rows = prompt_.size();
        TRY(auto file,
            NpyWriter::open(path("logits.npy"), DType::f32, {rows, model_.spec().vocab}));
        ForwardOptions options = forward_options(LogitRows::all);
        trace_.total_rows = uint32_t(rows);
        options.trace = &trace_;
        options.on_logits = [&](uint32_t row, std::span<const float> logits) -> Status {
            if (row + 1 == rows) {
                TRY(bonus_, greedy_token(logits, {}));
            }
            return file.append(std::as_bytes(logits));
        };
        TRY_STATUS(model_.forward(state_, prompt_, options));
        return file.close();
    }

    Status write_layers() {
        const uint64_t rows = prompt_.size();
        for (size_t layer = 0; layer < trace_.hidden.size(); ++layer)
            TRY_STATUS(write_array(path(fmt::format("hidden.{}.npy", layer)), DType::f32, rows,
                                   model_.spec().dim, trace_.hidden[layer]));
        for (size_t layer = 0; layer < trace_.routes.size(); ++layer) {
            const Trace::Routes& routes = trace_.routes[layer];
            if (routes.top_k == 0) continue;
            TRY_STATUS(write_array(path(fmt::format("router.{}.ids.npy", layer)), DType::i32, rows,
                                   routes.top_k, routes.ids));
            TRY_STATUS(write_array(path(fmt::format("router.{}.weights.npy", layer)), DType::f32,
                                   rows, routes.top_k, routes.weights));
        }
        for (size_t layer = 0; layer < trace_.selections.size(); ++layer) {
            const Trace::Selection& selection = trace_.selections[layer];
            if (selection.width == 0) continue;
            TRY_STATUS(write_array(path(fmt::format("index.{}.npy", layer)), DType::i32, rows,
                                   selection.width, selection.positions));
        }
        return {};
    }

    // Forced rows (h_t, x_{t+1}) at positions 0 to T-2; then step j at position T-1+j, from
    // (h_{T-1}, bonus) on, each with the hidden row and the choice of the one before.
    Status run_drafts(uint32_t count) {
        const uint64_t rows = prompt_.size();
        const uint32_t dim = model_.spec().dim, vocab = model_.spec().vocab;
        const std::vector<float>& hidden = trace_.hidden.back();
        SequenceState draft = model_.new_draft_state();

        TRY(auto forced, NpyWriter::open(path("mtp.forced.npy"), DType::f32, {rows - 1, vocab}));
        ForwardOptions options = forward_options(LogitRows::all);
        options.on_logits = [&](uint32_t, std::span<const float> logits) {
            return forced.append(std::as_bytes(logits));
        };
        if (rows > 1)
            TRY_STATUS(model_.draft_forward(draft, std::span(hidden).first((rows - 1) * dim),
                                            std::span(prompt_).subspan(1), options));
        TRY_STATUS(forced.close());
        if (count == 0) return {};

        TRY(auto steps, NpyWriter::open(path("mtp.draft.npy"), DType::f32, {count, vocab}));
        std::vector<float> row(hidden.end() - dim, hidden.end());
        int32_t token = bonus_;
        for (uint32_t step = 0; step < count; ++step) {
            std::vector<float> next_row;
            options.on_hidden = [&](uint32_t, std::span<const float> values) -> Status {
                next_row.assign(values.begin(), values.end());
                return {};
            };
            int32_t choice = 0;
            options.on_logits = [&](uint32_t, std::span<const float> logits) -> Status {
                TRY(choice, greedy_token(logits, {}));
                return steps.append(std::as_bytes(logits));
            };
            TRY_STATUS(model_.draft_forward(draft, row, std::span(&token, 1), options));
            drafts_.push_back(choice);
            token = choice;
            row = std::move(next_row);
        }
        return steps.close();
    }

    // Generation does not stop at the end of turn.
    Status run_greedy(uint32_t count) {
        for (int32_t token = bonus_; greedy_.size() < count;) {
            greedy_.push_back(token);
            if (greedy_.size() == count) break;
            ForwardOptions options = forward_options(LogitRows::last);
            int32_t choice = 0;
            options.on_logits = [&](uint32_t, std::span<const float> logits) -> Status {
                TRY(choice, greedy_token(logits, {}));
                return {};
            };
            TRY_STATUS(model_.forward(state_, std::span(&token, 1), options));
            token = choice;
        }
        return {};
    }

    Status write_choices() const {
        const nlohmann::ordered_json choices = {
            {"prompt", prompt_}, {"greedy", greedy_}, {"bonus", bonus_}, {"drafts", drafts_}};
        const std::string text = choices.dump() + "\n";
        return write_file_atomic(path("greedy.json"), std::as_bytes(std::span(text)));
    }

    Model& model_;
    std::vector<int32_t> prompt_;
    std::filesystem::path directory_;
    CancelToken cancel_;
    InterruptScope interrupts_;
    Progress progress_;
    SequenceState state_;
    Trace trace_;
    int32_t bonus_ = 0;
    std::vector<int32_t> greedy_, drafts_;
};

}  // namespace

int eval_trace_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    auto tokens = parse_token_list(settings.text(Opt::tokens));
    if (!tokens) return misused(console, Command::eval_trace, tokens.error());
    const std::string directory = settings.text(Opt::out);
    if (directory.empty())
        return misused(console, Command::eval_trace,
                       {ErrorKind::invalid_input, "--out DIR is needed", {}});
    const auto greedy_count = uint32_t(settings.count(Opt::greedy_count).value_or(0));
    const auto draft_count = uint32_t(settings.count(Opt::drafts).value_or(0));
    auto options = model_options(settings);
    if (!options) return misused(console, Command::eval_trace, options.error());
    options->draft_head = true;
    if (!settings.given(Opt::ctx))
        options->context = uint32_t(tokens->size()) + std::max(greedy_count, draft_count);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error)
        return failed(console,
                      {ErrorKind::io,
                       fmt::format("cannot make the directory {}: {}", directory, error.message()),
                       {}});
    const auto model = open_model(*std::move(options), console);
    if (!model) return failed(console, model.error());
    if (const auto status = check_token_range(*tokens, (*model)->spec().vocab); !status)
        return misused(console, Command::eval_trace, status.error());
    if (draft_count > 0 && !(*model)->has_draft_head())
        console.note("this checkpoint has no MTP layer: no mtp.*.npy, and no drafts");
    Tracer tracer(**model, *std::move(tokens), directory, console);
    if (const auto status = tracer.trace(greedy_count, draft_count); !status)
        return failed(console, status.error());
    return kExitOk;
}

}  // namespace colibri
