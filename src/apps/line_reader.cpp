#include "apps/line_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>

#include "platform/file.h"

#ifdef COLIBRI_HAVE_LIBEDIT
#include <histedit.h>
#endif

namespace colibri {

namespace {

constexpr uint64_t kHistoryBytesMax = 4 << 20;

std::vector<std::string> read_history(const std::string& path) {
    std::vector<std::string> lines;
    const auto text =
        path.empty() ? fail(ErrorKind::not_found, "") : read_file(path, kHistoryBytesMax);
    if (!text) return lines;
    for (size_t begin = 0; begin < text->size();) {
        const size_t end = std::min(text->find('\n', begin), text->size());
        if (end > begin) lines.push_back(text->substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

}  // namespace

#ifdef COLIBRI_HAVE_LIBEDIT

struct LineReader::Editor {
    Editor() {
        // Letters beyond ASCII need a UTF-8 locale; containers often have none set.
        if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX < 2)
            std::setlocale(LC_CTYPE, "C.UTF-8");
        line = ::el_init("coli", stdin, stderr, stderr);
        past = ::history_init();
        if (line == nullptr || past == nullptr) return;
        HistEvent event;
        ::history(past, &event, H_SETSIZE, int(kHistoryLinesMax));
        ::history(past, &event, H_SETUNIQUE, 1);
        ::el_set(line, EL_PROMPT, +[](EditLine*) -> const char* { return "> "; });
        ::el_set(line, EL_EDITOR, "emacs");
        ::el_set(line, EL_HIST, ::history, past);
        // Ctrl-C must end the wait instead of being handled by the library.
        ::el_set(line, EL_SIGNAL, 0);
        ::el_source(line, nullptr);
    }
    ~Editor() {
        if (past != nullptr) ::history_end(past);
        if (line != nullptr) ::el_end(line);
    }
    Editor(const Editor&) = delete;
    Editor& operator=(const Editor&) = delete;

    void remember(const std::string& text) const {
        HistEvent event;
        ::history(past, &event, H_ENTER, text.c_str());
    }
    std::optional<std::string> next() const {
        int count = 0;
        const char* text = ::el_gets(line, &count);
        if (text == nullptr || count <= 0) return std::nullopt;
        std::string result(text, size_t(count));
        while (result.ends_with('\n') || result.ends_with('\r')) result.pop_back();
        return result;
    }

    ::EditLine* line = nullptr;
    ::History* past = nullptr;
};

#else

struct LineReader::Editor {
    void remember(const std::string&) const {}
    std::optional<std::string> next() const { return std::nullopt; }
    void* line = nullptr;
    void* past = nullptr;
};

#endif

LineReader::LineReader(bool edit, std::string history_path)
    : history_path_(std::move(history_path)) {
    if (!edit) return;
    editor_ = std::make_unique<Editor>();
    if (editor_->line == nullptr || editor_->past == nullptr) {
        editor_.reset();
        return;
    }
    history_ = read_history(history_path_);
    for (const std::string& line : history_) editor_->remember(line);
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next_plain() {
    while (true) {
        const size_t end = buffered_.find('\n');
        if (end != std::string::npos || (ended_ && !buffered_.empty())) {
            std::string line = buffered_.substr(0, end);
            buffered_.erase(0, end == std::string::npos ? end : end + 1);
            if (line.ends_with('\r')) line.pop_back();
            return line;
        }
        if (ended_ || buffered_.size() > kLineBytesMax) return std::nullopt;
        char block[4096];
        const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
        if (count < 0) return std::nullopt;
        if (count == 0) ended_ = true;
        buffered_.append(block, size_t(count));
    }
}

std::optional<std::string> LineReader::next_physical() {
    if (!editor_) return next_plain();
    auto line = editor_->next();
    if (line && !line->empty()) {
        editor_->remember(*line);
        if (history_.empty() || history_.back() != *line) history_.push_back(*line);
    }
    return line;
}

std::optional<std::string> LineReader::next() {
    auto line = next_physical();
    while (line && line->ends_with('\\')) {
        line->back() = '\n';
        const auto more = next_physical();
        if (!more) break;
        *line += *more;
    }
    return line;
}

Status LineReader::save_history() const {
    if (!editor_ || history_path_.empty() || history_.empty()) return {};
    namespace fs = std::filesystem;
    const fs::path directory = fs::path(history_path_).parent_path();
    std::error_code error;
    if (fs::create_directories(directory, error) && !error)
        fs::permissions(directory, fs::perms::owner_all, error);  // conversations are private
    std::string text;
    const size_t first = history_.size() - std::min(history_.size(), kHistoryLinesMax);
    for (size_t line = first; line < history_.size(); ++line) text += history_[line] + "\n";
    return write_file_atomic(history_path_, std::as_bytes(std::span(text)));
}

std::string state_directory() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    // A relative path is invalid by the XDG specification.
    if (const std::string state = variable("XDG_STATE_HOME"); state.starts_with('/'))
        return state + "/colibri";
    const std::string home = variable("HOME");
    return home.empty() ? "" : home + "/.local/state/colibri";
}

}  // namespace colibri
