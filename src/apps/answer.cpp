#include "apps/answer.h"

#include <fmt/format.h>

#include "base/units.h"

namespace colibri {

AnswerView::AnswerView(const Console& console, CancelToken& cancel)
    : console_(console), cancel_(cancel), progress_(console.err) {}

void AnswerView::attach(GenerateOptions& options) {
    options.on_prefill = [this](uint32_t done, uint32_t total) {
        progress_.show(fmt::format("reading the prompt: {} of {} tokens", done, total));
    };
    options.on_text = [this](std::string_view text, bool reasoning) { on_text(text, reasoning); };
    options.on_notice = [this](const std::string& line) { on_notice(line); };
}

// On a terminal that shows both streams the line gets one of its own.
void AnswerView::on_notice(const std::string& line) {
    progress_.clear();
    const bool within_answer = console_.out.is_terminal() && !console_.out.at_line_start();
    if (!console_.err.at_line_start() || (within_answer && console_.err.is_terminal()))
        console_.err.write("\n");
    console_.note(line);
}

void AnswerView::on_text(std::string_view text, bool reasoning) {
    if (text.empty()) return;
    progress_.clear();
    const Part part = reasoning ? Part::reasoning : Part::answer;
    if (part != part_) {
        if (part_ == Part::reasoning && !console_.err.at_line_start()) console_.err.write("\n");
        if (part == Part::reasoning) console_.err.write_dim("[thinking]\n");
        if (part == Part::answer && part_ == Part::reasoning) console_.err.write_dim("[answer]\n");
        part_ = part;
    }
    if (reasoning) return console_.err.write_dim(text);
    console_.out.write_foreign(text);
    if (!console_.out.good()) cancel_.cancel();
}

void AnswerView::finish() {
    progress_.clear();
    if (part_ == Part::reasoning && !console_.err.at_line_start()) console_.err.write("\n");
    if (!console_.out.at_line_start()) console_.out.write("\n");
}

std::string_view to_string(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop: return "stop";
        case FinishReason::length: return "length";
        case FinishReason::context: return "context";
        case FinishReason::cancelled: return "cancelled";
        case FinishReason::stop_string: return "stop_string";
        case FinishReason::loop: return "loop";
    }
    return "";
}

double tokens_per_second(const GenerationStats& stats) {
    return stats.decode_us == 0 ? 0 : 1e6 * stats.generated_tokens / double(stats.decode_us);
}

double hit_rate(const GenerationStats& stats) {
    const uint64_t asked = stats.expert_hits + stats.expert_misses;
    return asked == 0 ? 0 : double(stats.expert_hits) / double(asked);
}

double wait_share(const GenerationStats& stats) {
    const uint64_t spent = stats.prefill_us + stats.decode_us;
    return spent == 0 ? 0 : double(stats.wait_us) / double(spent);
}

std::string statistics_line(const GenerationStats& stats) {
    const uint32_t read = stats.prompt_tokens - stats.reused_tokens;
    std::string line = fmt::format("{:.1f} tokens/s, {} tokens | prompt {} tokens in {:.2f} s",
                                   tokens_per_second(stats), stats.generated_tokens, read,
                                   double(stats.prefill_us) / 1e6);
    if (stats.reused_tokens > 0) line += fmt::format(", {} reused", stats.reused_tokens);
    line += fmt::format(" | hits {:.0f} %, {} read, waited {:.0f} %", 100 * hit_rate(stats),
                        format_bytes(stats.read_bytes), 100 * wait_share(stats));
    if (stats.prefetches > 0)
        line += fmt::format(" | prefetched {}, {:.0f} % useful, {} in vain", stats.prefetches,
                            100 * double(stats.useful_prefetches) / double(stats.prefetches),
                            format_bytes(stats.wasted_prefetch_bytes));
    return line;
}

std::string ending_remark(const Generation& generation, uint32_t context) {
    const bool blank = generation.text.find_first_not_of(" \n\t\r") == std::string::npos;
    const bool thought = generation.stats.reasoning_tokens > 0;
    switch (generation.finish) {
        case FinishReason::cancelled: return "stopped";
        case FinishReason::context:
            return fmt::format("{} the context of {} positions is full; --ctx raises it",
                               blank && thought ? "no answer: reasoning used all there was,"
                                                : "the answer is cut:",
                               context);
        case FinishReason::length:
            if (blank && thought)
                return fmt::format(
                    "no answer: reasoning used all {} tokens that --max-tokens "
                    "allows; raise it, or use --no-think",
                    generation.stats.generated_tokens);
            return fmt::format("the answer is cut: --max-tokens allows {}",
                               generation.stats.generated_tokens);
        case FinishReason::stop_string: return "";
        case FinishReason::loop:
            return "stopped: the answer repeats itself; --loop-guard 0 lets it go on";
        case FinishReason::stop:
            if (!blank) return "";
            return thought ? "no answer: the model ended its turn after reasoning"
                           : "no answer: the model ended its turn at once";
    }
    return "";
}

bool wants_statistics(const Settings& settings, const Console& console) {
    return settings.flag(Opt::stats).value_or(console.err.is_terminal());
}

}  // namespace colibri
