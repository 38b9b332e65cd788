// How one answer is shown while it is made, and what is said about it afterwards. Shared by run and
// chat.
#pragma once

#include <string>

#include "apps/options.h"
#include "apps/terminal.h"
#include "base/cancel.h"
#include "colibri/engine.h"

namespace colibri {

// The answer to standard output as it comes; reasoning to standard error, dimmed, with a headline;
// progress of a long prefill. When nobody reads the output any more, the token is raised.
class AnswerView {
public:
    AnswerView(const Console& console, CancelToken& cancel);
    // Fills in the callbacks; they refer to this object.
    void attach(GenerateOptions& options);
    // Ends the last line.
    void finish();

private:
    void on_text(std::string_view text, bool reasoning);
    void on_notice(const std::string& line);

    const Console& console_;
    CancelToken& cancel_;
    Progress progress_;
    enum class Part : uint8_t { nothing, reasoning, answer } part_ = Part::nothing;
};

[[nodiscard]] std::string_view to_string(FinishReason reason);

// "12.3 tokens/s, 87 tokens | prompt 15 tokens in 0.4 s | hits 83 %, 1.2 GiB read, waited 12 %"
[[nodiscard]] std::string statistics_line(const GenerationStats& stats);

// Shares and rates; 0 where there was nothing to count.
[[nodiscard]] double tokens_per_second(const GenerationStats& stats);
[[nodiscard]] double hit_rate(const GenerationStats& stats);
[[nodiscard]] double wait_share(const GenerationStats& stats);

// What a reader should know about how the answer ended: cut, or blank because reasoning used up the
// room. "" when all is well.
[[nodiscard]] std::string ending_remark(const Generation& generation, uint32_t context);

// Whether the statistics line is wanted: --stats, or a terminal.
[[nodiscard]] bool wants_statistics(const Settings& settings, const Console& console);

}  // namespace colibri
