// Lines from a person (edited, with history, on a terminal) or from a pipe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace colibri {

inline constexpr size_t kHistoryLinesMax = 1000;
inline constexpr size_t kLineBytesMax = 16 << 20;  // a pasted file is one line at most

class LineReader {
public:
    // `edit`: prompt, editing and history when this build has them. History lives in `history_path`
    // ("" for none); a file that cannot be read is an empty one.
    LineReader(bool edit, std::string history_path);
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    // Whether lines are edited here; otherwise the caller shows a prompt, if any.
    [[nodiscard]] bool edits() const { return editor_ != nullptr; }

    // The next line without its line feed; a line that ends with a backslash goes on in the next.
    // Absent at the end of input and when a signal interrupted the wait.
    [[nodiscard]] std::optional<std::string> next();
    // Replaces the history file. Errors: io.
    [[nodiscard]] Status save_history() const;

private:
    struct Editor;
    [[nodiscard]] std::optional<std::string> next_physical();
    [[nodiscard]] std::optional<std::string> next_plain();

    std::unique_ptr<Editor> editor_;
    std::string history_path_;
    std::vector<std::string> history_;
    std::string buffered_;
    bool ended_ = false;
};

// $XDG_STATE_HOME/colibri, or ~/.local/state/colibri; "" when neither variable is set.
[[nodiscard]] std::string state_directory();

}  // namespace colibri
