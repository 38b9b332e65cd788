#include "apps/terminal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>

namespace colibri {
namespace {

class PipeTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(::pipe(ends_.data()), 0); }
    void TearDown() override {
        for (const int end : ends_)
            if (end >= 0) ::close(end);
    }
    std::string read_all() {
        ::close(ends_[1]);
        ends_[1] = -1;
        std::string text(65536, '\0');
        const ssize_t count = ::read(ends_[0], text.data(), text.size());
        text.resize(count > 0 ? size_t(count) : 0);
        return text;
    }
    std::array<int, 2> ends_{-1, -1};
};

// Goal: pipes get plain text: no colors, no progress, foreign bytes untouched.
// Method: everything a command writes, into a pipe.
TEST_F(PipeTest, StaysPlain) {
    Stream stream(ends_[1], true);
    EXPECT_FALSE(stream.is_terminal() || stream.has_color());
    stream.write_dim("thinking\n");
    stream.write_foreign("a\x1b[2Jb");
    EXPECT_FALSE(stream.at_line_start());
    {
        Progress progress(stream);
        progress.show("reading 10 %");
    }
    stream.write("\n");
    EXPECT_TRUE(stream.at_line_start());
    EXPECT_TRUE(stream.good());
    EXPECT_EQ(read_all(), "thinking\na\x1b[2Jb\n");
}

// Goal: a reader that went away is noticed and nothing else happens.
// Method: close the reading end, write twice.
TEST_F(PipeTest, NoticesAReaderThatLeft) {
    ::signal(SIGPIPE, SIG_IGN);
    Stream stream(ends_[1], true);
    ::close(ends_[0]);
    ends_[0] = -1;
    stream.write("one");
    stream.write("two");
    EXPECT_FALSE(stream.good());
    EXPECT_TRUE(stream.reader_left());
    EXPECT_EQ(stream.error(), "Broken pipe");
}

// Goal: notices are shown once each, in order, and cannot carry control characters.
// Method: the same notice twice, one with an escape sequence.
TEST_F(PipeTest, ShowsNoticesOnce) {
    Stream stream(ends_[1], true);
    const Console console{.out = stream, .err = stream};
    Notices notices;
    notices.add("first");
    notices.add("first");
    notices.add("file \x1b[31mred");
    console.show(notices);
    console.show(notices);
    stream.write("text");
    console.error("bad");
    EXPECT_EQ(read_all(), "coli: note: first\ncoli: note: file [31mred\ntext\ncoli: error: bad\n");
}

// Goal: text from a model cannot drive the terminal; letters of any script pass.
// Method: C0, DEL, C1 as UTF-8, and characters whose bytes resemble them.
TEST(WithoutControls, RemovesOnlyControls) {
    EXPECT_EQ(without_controls("a\x1b]0;title\x07"
                               "b\r\x7f\n\tc"),
              "a]0;titleb\n\tc");
    EXPECT_EQ(without_controls("\xC2\x9B"
                               "31m\xC2\xA0x"),
              "31m\xC2\xA0x");
    EXPECT_EQ(without_controls("é 中文 🐦"), "é 中文 🐦");
    EXPECT_EQ(without_controls("\xC2"), "\xC2");
}

}  // namespace
}  // namespace colibri
