#include "text/unicode_normal_form.h"

#include <gtest/gtest.h>

#include <string>

namespace colibri {
namespace {

struct Forms {
    const char* source;
    const char* composed;
    const char* decomposed;
};

// Goal: both canonical forms.
// Method: rows of the Unicode standard's NormalizationTest.txt and of annex 15: ordering,
// exclusions, singletons, blocked marks, Hangul, characters beyond the basic plane.
TEST(UnicodeNormalForm, StandardRows) {
    const Forms rows[] = {
        {"plain ASCII", "plain ASCII", "plain ASCII"},
        {"\u1E0A", "\u1E0A", "D\u0307"},
        {"\u1E0A\u0323", "\u1E0C\u0307", "D\u0323\u0307"},
        {"D\u0307\u0323", "\u1E0C\u0307", "D\u0323\u0307"},
        {"\u212B", "\u00C5", "A\u030A"},
        {"\u2126", "\u03A9", "\u03A9"},
        {"\u0958", "\u0915\u093C", "\u0915\u093C"},
        {"\uFB01", "\uFB01", "\uFB01"},
        {"\u0344", "\u0308\u0301", "\u0308\u0301"},
        {"a\u0315\u0300\u05AE\u0300b", "\u00E0\u05AE\u0300\u0315b", "a\u05AE\u0300\u0300\u0315b"},
        {"\u1100\u1161\u11A8", "\uAC01", "\u1100\u1161\u11A8"},
        {"\uAC00\u11A7", "\uAC00\u11A7", "\u1100\u1161\u11A7"},
        {"\u09C7\u0334\u09BE", "\u09C7\u0334\u09BE", "\u09C7\u0334\u09BE"},
        {"\u09C7\u09BE", "\u09CB", "\u09C7\u09BE"},
        {"\u0300a", "\u0300a", "\u0300a"},
        {"\U0001D15E", "\U0001D157\U0001D165", "\U0001D157\U0001D165"},
        {"\U00011099\U000110BA", "\U0001109A", "\U00011099\U000110BA"},
        {"\U0002F800", "\u4E3D", "\u4E3D"},
        {"\u01D5", "\u01D5", "U\u0308\u0304"},
    };
    for (const Forms& row : rows) {
        for (const char* form : {row.source, row.composed, row.decomposed}) {
            EXPECT_EQ(to_nfc(form), row.composed) << row.source;
            EXPECT_EQ(to_nfd(form), row.decomposed) << row.source;
        }
    }
}

}  // namespace
}  // namespace colibri
