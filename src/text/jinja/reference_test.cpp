#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/jinja/render_fixture.h"

namespace colibri::jinja {
namespace {

using Json = nlohmann::ordered_json;

// Compares every row of NAME.jsonl (made by tests/golden/make/make_jinja_cases.py); returns their
// number.
size_t compare_rows(const std::string& name) {
    const std::string folder = COLIBRI_SOURCE_DIR "/tests/golden/jinja/";
    std::ifstream context_file(folder + name + ".context.json");
    const Json context = Json::parse(context_file);
    std::ifstream rows(folder + name + ".jsonl");
    size_t count = 0;
    for (std::string line; std::getline(rows, line); ++count) {
        const Json row = Json::parse(line);
        const std::string source = row["source"];
        const auto rendered = render_fixture(source, context);
        if (row.contains("error")) {
            EXPECT_FALSE(rendered.has_value()) << source << "\n  jinja2: " << row["error"];
            continue;
        }
        if (rendered) {
            EXPECT_EQ(rendered->bytes(), row["text"].get<std::string>()) << source;
        } else {
            ADD_FAILURE() << source << "\n  " << rendered.error().message;
        }
    }
    return count;
}

// Goal: expressions, filters, tests and methods give what Python's jinja2 gives.
// Method: several hundred small expressions with the text that jinja2 3.1 rendered, or that it
// refused.
TEST(JinjaReference, ExpressionsMatchJinja2) {
    EXPECT_EQ(compare_rows("expressions"), 579U);
}

// Goal: statements, scoping and whitespace control give what Python's jinja2 gives.
// Method: small templates, well-formed and broken, with the text that jinja2 3.1 rendered, or that
// it refused.
TEST(JinjaReference, TemplatesMatchJinja2) {
    EXPECT_EQ(compare_rows("templates"), 253U);
}

}  // namespace
}  // namespace colibri::jinja
