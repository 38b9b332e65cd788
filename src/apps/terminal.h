// What a person sees: colors and progress on terminals only, nothing of that kind in pipes and
// files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/notices.h"

namespace colibri {

// One of the standard streams, unbuffered by us. A reader that went away (a closed pipe) is
// remembered, so that work for it can stop.
class Stream {
public:
    // `color`: false where NO_COLOR is set or TERM is dumb.
    Stream(int descriptor, bool color);

    [[nodiscard]] bool is_terminal() const { return terminal_; }
    [[nodiscard]] bool has_color() const { return terminal_ && color_; }
    // Columns of the terminal; 80 when unknown.
    [[nodiscard]] uint32_t width() const;

    // Writes everything at once. On a terminal, control characters other than line feed and tab are
    // left out of text that is not our own: a model's answer must not move the cursor or retitle
    // the window.
    void write(std::string_view own_text);
    void write_foreign(std::string_view text);
    void write_dim(std::string_view foreign_text);

    // False once something could not be written; error() says why ("Broken pipe").
    [[nodiscard]] bool good() const { return error_ == 0; }
    [[nodiscard]] bool reader_left() const;
    [[nodiscard]] std::string error() const;
    // The last character written ended a line, or nothing was written.
    [[nodiscard]] bool at_line_start() const { return at_line_start_; }

private:
    void put(std::string_view bytes);
    int descriptor_;
    bool terminal_, color_;
    bool at_line_start_ = true;
    int error_ = 0;
};

// Control characters other than line feed and tab left out (C0, DEL, and C1 in UTF-8).
[[nodiscard]] std::string without_controls(std::string_view text);

// The streams of a command.
struct Console {
    Stream& out;
    Stream& err;
    // "coli: note: ..." for each notice that came since the last call.
    void show(Notices& notices) const;
    void note(std::string_view text) const;
    void error(std::string_view text) const;
};

// One line on a terminal that is redrawn at most five times a second and vanishes at the end.
// Appears only for work that takes longer than half a second; does nothing when the stream is no
// terminal.
class Progress {
public:
    explicit Progress(Stream& stream);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    // Text without control characters; cut to the width.
    void show(const std::string& line);
    void clear();

private:
    Stream& stream_;
    uint64_t begin_us_, drawn_us_ = 0;
    bool visible_ = false;
};

}  // namespace colibri
