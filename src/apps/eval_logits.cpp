// coli eval logits: scores of given tokens, teacher-forced.

#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/setup.h"
#include "apps/token_list.h"
#include "format/npy.h"

namespace colibri {

namespace {

Status write_logits(Model& model, std::span<const int32_t> tokens, const std::string& path,
                    const Console& console) {
    TRY(auto file, NpyWriter::open(path, DType::f32, {tokens.size(), model.spec().vocab}));
    CancelToken cancel;
    const InterruptScope interrupts(cancel);
    Progress progress(console.err);
    ForwardOptions options;
    options.logits = LogitRows::all;
    options.on_logits = [&](uint32_t, std::span<const float> logits) {
        return file.append(std::as_bytes(logits));
    };
    options.on_progress = [&](uint32_t done, uint32_t total) {
        progress.show(fmt::format("{} of {} tokens", done, total));
    };
    options.cancel = &cancel;
    SequenceState state = model.new_state();
    TRY_STATUS(model.forward(state, tokens, options));
    return file.close();
}

}  // namespace

int eval_logits_command(const Invocation& invocation, const Console& console) {
    const Settings& settings = invocation.settings;
    const auto tokens = parse_token_list(settings.text(Opt::tokens));
    if (!tokens) return misused(console, Command::eval_logits, tokens.error());
    const std::string path = settings.text(Opt::out);
    if (path.empty())
        return misused(console, Command::eval_logits,
                       {ErrorKind::invalid_input, "--out FILE.npy is needed", {}});
    auto options = model_options(settings);
    if (!options) return misused(console, Command::eval_logits, options.error());
    // Memory for what is asked, unless told otherwise.
    if (!settings.given(Opt::ctx)) options->context = uint32_t(tokens->size());
    const auto model = open_model(*std::move(options), console);
    if (!model) return failed(console, model.error());
    if (const auto status = check_token_range(*tokens, (*model)->spec().vocab); !status)
        return misused(console, Command::eval_logits, status.error());
    if (const auto status = write_logits(**model, *tokens, path, console); !status)
        return failed(console, status.error());
    return kExitOk;
}

}  // namespace colibri
