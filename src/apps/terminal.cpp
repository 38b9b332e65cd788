#include "apps/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/clock.h"

namespace colibri {

namespace {

constexpr uint64_t kFirstDrawUs = 500'000;
constexpr uint64_t kRedrawUs = 200'000;

// Bytes of the control character at the front, 0 when there is none. C1 controls are two bytes in
// UTF-8: C2 80 to C2 9F.
size_t control_bytes(std::string_view text) {
    const auto byte = static_cast<unsigned char>(text.front());
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) return 1;
    if (byte == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0) return 2;
    return 0;
}

// The longest beginning of UTF-8 text with at most `columns` characters.
std::string_view cut_to_columns(std::string_view text, size_t columns) {
    size_t at = 0;
    for (size_t seen = 0; at < text.size(); ++at) {
        const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
        if (begins && seen++ == columns) break;
    }
    return text.substr(0, at);
}

}  // namespace

std::string without_controls(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const size_t control = control_bytes(text);
        if (control == 0) result += text.front();
        text.remove_prefix(std::max<size_t>(control, 1));
    }
    return result;
}

Stream::Stream(int descriptor, bool color)
    : descriptor_(descriptor), terminal_(::isatty(descriptor) == 1), color_(color) {}

uint32_t Stream::width() const {
    winsize size{};
    if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

void Stream::put(std::string_view bytes) {
    if (!bytes.empty()) at_line_start_ = bytes.back() == '\n';
    while (!bytes.empty() && error_ == 0) {
        const ssize_t wrote = ::write(descriptor_, bytes.data(), bytes.size());
        if (wrote >= 0) {
            bytes.remove_prefix(size_t(wrote));
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

void Stream::write(std::string_view own_text) {
    put(own_text);
}

void Stream::write_foreign(std::string_view text) {
    put(terminal_ ? without_controls(text) : std::string(text));
}

void Stream::write_dim(std::string_view foreign_text) {
    if (!has_color()) return write_foreign(foreign_text);
    const bool ends_line = foreign_text.ends_with('\n');
    put(fmt::format("\x1b[2m{}\x1b[0m", without_controls(foreign_text)));
    at_line_start_ = ends_line;
}

bool Stream::reader_left() const {
    return error_ == EPIPE;
}

std::string Stream::error() const {
    return std::generic_category().message(error_);
}

void Console::show(Notices& notices) const {
    for (const std::string& notice : notices.take()) note(notice);
}

void Console::note(std::string_view text) const {
    err.write(fmt::format("coli: note: {}\n", without_controls(text)));
}

void Console::error(std::string_view text) const {
    if (!err.at_line_start()) err.write("\n");
    err.write(fmt::format("coli: error: {}\n", without_controls(text)));
}

Progress::Progress(Stream& stream) : stream_(stream), begin_us_(now_us()) {}

Progress::~Progress() {
    clear();
}

void Progress::show(const std::string& line) {
    const uint64_t now = now_us();
    if (!stream_.is_terminal() || now - begin_us_ < kFirstDrawUs || now - drawn_us_ < kRedrawUs)
        return;
    drawn_us_ = now;
    visible_ = true;
    stream_.write(fmt::format("\r{}\x1b[K", cut_to_columns(line, stream_.width() - 1)));
}

void Progress::clear() {
    if (visible_) stream_.write("\r\x1b[K");
    visible_ = false;
    begin_us_ = now_us();
}

}  // namespace colibri
