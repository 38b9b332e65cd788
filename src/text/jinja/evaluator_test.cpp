#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/jinja/render_fixture.h"

namespace colibri::jinja {
namespace {

using Json = nlohmann::ordered_json;

// The rendered text with input in brackets: "a[b]c" has the input "b".
std::string marked(const TrackedText& text) {
    std::string out;
    size_t at = 0;
    for (const ByteRange& range : text.input_ranges()) {
        out += text.bytes().substr(at, range.begin - at) + "[" +
               text.bytes().substr(range.begin, range.end - range.begin) + "]";
        at = range.end;
    }
    return out + text.bytes().substr(at);
}

// Goal: no operation of a template turns text from outside into text of the template.
// Method: each expression on the input "<x> y"; what it made of input is in brackets, and literals
// around it are not.
TEST(JinjaOrigin, IsKeptThroughEveryOperation) {
    const Json context = {{"c", "<x> y"}, {"d", {{"k<", "v"}}}, {"l", {"a", "b"}}, {"n", 5}};
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"{{ '<s>' + c + '</s>' }}", "<s>[<x> y]</s>"},
        {"{{ '<s>' ~ c ~ n }}", "<s>[<x> y]5"},
        {"{{ c[0:3] ~ '|' ~ c[::-1] ~ '|' ~ c[0] }}", "[<x>]|[y >x<]|[<]"},
        {"{{ (' <a>' ~ c ~ ' ').strip() }}", "<a>[<x> y]"},
        {"{{ c | trim ~ '.' }}", "[<x> y]."},
        {"{{ c.split(' ')[0] ~ '.' ~ c.split()[1] }}", "[<x>].[y]"},
        {"{{ ('<a>,' ~ c).split(',') | join('<') }}", "<a><[<x> y]"},
        {"{{ c.replace('x', 'q') }}", "[<]q[> y]"},
        {"{{ 'a-b' | replace('-', c) }}", "a[<x> y]b"},
        {"{{ c | upper }}{{ ('<a>' ~ c) | upper }}", "[<X> Y]<A>[<X> Y]"},
        {"{{ ('<a>' ~ c) | title }}", "[<A><X> Y]"},
        {"{{ ('a' ~ c).capitalize() }}", "[A<x> y]"},
        {"{{ '%s|%5s' % (c, 'z') }}", "[<x> y]|    z"},
        {"{{ '<{}>'.format(c) }}", "<[<x> y]>"},
        {"{{ 'a' | format }}{{ '<%s>' | format(c) }}", "a<[<x> y]>"},
        {"{{ c | indent(2, true) }}", "  [<x> y]"},
        {"{{ d | tojson }}", "{[\"k<\"]: [\"v\"]}"},
        {"{{ [c, 1] }}", "[['<x> y']], 1]"},
        {"{{ c | list | join }}{{ c | first }}{{ l | join('<') }}", "[<x> y<a]<[b]"},
        {"{{ l | map('upper') | join(',') }}", "[A],[B]"},
        {"{{ c | e }}", "[&lt;x&gt; y]"},
        {"{{ c * 2 ~ 'z' * 2 }}", "[<x> y<x> y]zz"},
        {"{% set t %}<a>{{ c }}</a>{% endset %}{{ t }}", "<a>[<x> y]</a>"},
        {"{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(c) }}{{ m('q') }}", "<[<x> y]><q>"},
        {"{% filter upper %}<a>{{ c }}{% endfilter %}", "<A>[<X> Y]"},
        {"{% set ns = namespace(t='<') %}{% set ns.t = ns.t ~ c %}{{ ns.t }}", "<[<x> y]"},
        {"{% for ch in c[:2] %}{{ ch }}-{% endfor %}", "[<]-[x]-"},
        {"{% for k, v in d.items() %}<{{ k }}={{ v }}>{% endfor %}", "<[k<]=[v]>"},
        {"{{ strftime_now(c) }}{{ strftime_now('%Y') }}", "[<x> y]2025"},
        {"{{ c.partition(' ')[0] ~ '|' }}{{ (c ~ '>').removesuffix('>') }}", "[<x>]|[<x> y]"},
        {"{{ c | default('<d>') }}{{ zz | default('<d>') }}", "[<x> y]<d>"},
        {"{{ c if c == '<x> y' else '' }}{{ '<x> y' if c else '' }}", "[<x> y]<x> y"},
    };
    for (const auto& [source, expected] : cases) {
        const auto rendered = render_fixture(source, context);
        ASSERT_TRUE(rendered.has_value()) << source << ": " << rendered.error().message;
        std::string shown = marked(*rendered);
        if (source == "{{ [c, 1] }}") {
            EXPECT_EQ(shown, "[['<x> y'], 1]")
                << source;  // the list's own brackets surround the mark
        } else {
            EXPECT_EQ(shown, expected) << source;
        }
    }
}

// Goal: an error of a template says where it is and what is wrong.
// Method: broken templates; the message begins with file, line and column and names the finding.
TEST(JinjaErrors, NamePlaceAndCause) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"a\n{% if x %}",
         "test.jinja:2:11: expected '{% elif %}' or '{% else %}' or '{% endif %}', found the "
         "end of the template"},
        {"é{{ 1 + }}", "test.jinja:1:9: expected an expression, found '}}'"},
        {"{{ 'a }}", "test.jinja:1:4: this string has no closing quote"},
        {"\n\n {% nope %}", "test.jinja:3:2: unknown or misplaced tag 'nope'"},
        {"{{ (1] }}", "test.jinja:1:6: unexpected ']', expected ')'"},
        {"{# x", "test.jinja:1:1: this comment has no end: expected '#}'"},
        {"{{ m.content }}", "test.jinja:1:6: 'm' is undefined: cannot read 'content' of it"},
        {"{{ d.zz.q }}",
         "test.jinja:1:9: 'dict' object has no attribute 'zz': cannot read 'q' of it"},
        {"\n{{ 1 | nope }}", "test.jinja:2:8: no filter named 'nope'"},
        {"{{ 1 is nope }}", "test.jinja:1:6: no test named 'nope'"},
        {"{{ 1 / 0 }}", "test.jinja:1:4: division by zero"},
        {"{{ raise_exception('roles must alternate') }}",
         "test.jinja:1:19: the chat template refuses this conversation: roles must alternate"},
        {"{% set d.a = 1 %}",
         "test.jinja:1:8: 'd' is no namespace; only namespaces have attributes that can "
         "be set"},
        {"{% break %}", "test.jinja:1:1: 'break' stands outside of a loop"},
        {"{{ '\xff' }}", "test.jinja:1:5: the template is not valid UTF-8"},
    };
    for (const auto& [source, message] : cases) {
        const auto rendered = render_fixture(source, {{"d", {{"a", 1}}}});
        ASSERT_FALSE(rendered.has_value()) << source;
        EXPECT_EQ(rendered.error().message, message) << source;
    }
}

// Goal: a template cannot hang, exhaust memory or overflow the stack, in parsing or rendering.
// Method: one attack per bound; each ends in an error of the kind that belongs to it.
TEST(JinjaLimits, EndHostileTemplatesWithAnError) {
    const auto repeated = [](std::string_view part, size_t times) {
        std::string text;
        for (size_t i = 0; i < times; ++i) text += part;
        return text;
    };
    const std::string doubling =
        "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x";
    const std::string growing =
        "{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = ";
    const std::string wide =
        "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}";
    const std::vector<std::string> sources = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ range(1000000000000) }}",
        "{{ range(100001) }}",
        "{{ 'a' * 1000000000 }}",
        "{{ [1] * 1000000000 }}",
        "{{ 'a' * 60000000 ~ 'a' * 60000000 }}",
        doubling + " ~ ns.x %}{% endfor %}",
        doubling + " | replace('a', ns.x) %}{% endfor %}",
        doubling + " | tojson | tojson %}{% endfor %}",
        doubling + ".join(ns.x) %}{% endfor %}",
        growing + "[ns.x] %}{% endfor %}",
        growing + "{1: ns.x} %}{% endfor %}",
        // Small in memory, 2^100 items to walk.
        wide + "{{ ns.x == ns.x[0] }}{{ ns.x }}",
        wide + "{{ ns.x | tojson }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{{ 'a' * 50000000 }}{{ m() }}{% endmacro %}{{ m() }}",
        growing + "ns.x + ['a' * 9999999 ~ i] %}{% endfor %}",
        "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
        "{{ " + repeated("(", 10000) + "1" + repeated(")", 10000) + " }}",
        "{{ " + repeated("[", 10000) + repeated("]", 10000) + " }}",
        "{{ " + repeated("not ", 10000) + "1 }}",
        "{{ " + repeated("-", 10000) + "1 }}",
        "{{ 1" + repeated(" + 1", 10000) + " }}",
        "{{ 1" + repeated(" and 1", 10000) + " }}",
        "{{ x" + repeated(".x", 10000) + " }}",
        "{{ x" + repeated(" | trim", 10000) + " }}",
        "{{ 1" + repeated(" if 1", 10000) + " }}",
        repeated("{% if 1 %}", 10000) + repeated("{% endif %}", 10000),
        repeated("{% for x in y %}", 10000),
        "{% set " + repeated("(", 10000) + "x" + repeated(")", 10000) + " = 1 %}",
        repeated("a", kSourceBytesMax + 1),
        "{{ '%1000000000d' % 1 }}{{ '{:1000000000}'.format('a') }}",
        "{{ 1.5 | round(100000000) }}{{ 'a' | indent(1000000000) }}",
        "{{ 2 ** 1000000000 }}",
        "{{ 9223372036854775807 * 9223372036854775807 }}",
    };
    // Memory bounds below the default keep the test short; the depth bounds, which guard the stack,
    // are the default.
    const RenderLimits limits{.steps_max = 1'000'000,
                              .value_bytes_max = size_t{8} << 20U,
                              .string_bytes_max = size_t{1} << 20U};
    for (const std::string& source : sources) {
        const auto rendered = render_fixture(source, Json::object(), limits);
        ASSERT_FALSE(rendered.has_value()) << source.substr(0, 200);
        EXPECT_TRUE(rendered.error().kind == ErrorKind::out_of_budget ||
                    rendered.error().kind == ErrorKind::invalid_input ||
                    rendered.error().kind == ErrorKind::unsupported);
    }
}

// Goal: each bound of a render holds by itself and its error names the bound.
// Method: a template that only this bound stops, with the other bounds left wide.
TEST(JinjaLimits, EachBoundHoldsAlone) {
    struct Row {
        std::string source;
        RenderLimits limits;
        std::string message;
    };
    const std::vector<Row> rows = {
        {"{% for a in range(999) %}{% endfor %}",
         {.steps_max = 500},
         "more work than the 500 steps"},
        {"{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
         {.call_depth_max = 50},
         "the limit is 50"},
        {"{{ 'a' * 1001 }}",
         {.string_bytes_max = 1000},
         "one value of 1001 bytes; the limit is 1000"},
        {"{% for i in range(1001) %}a{% endfor %}",
         {.string_bytes_max = 1000},
         "the limit is 1000"},
        {"{% set ns = namespace(l=[]) %}{% for i in range(99) %}{% set ns.l = ns.l + ['a' * 900 ~ "
         "i] %}{% endfor %}",
         {.value_bytes_max = 50'000, .string_bytes_max = 10'000},
         "the limit is 50000"},
        {"{% macro m() %}{{ 'a' * 900 }}{{ m() }}{% endmacro %}{{ m() }}",
         {.value_bytes_max = 50'000},
         "the limit is 50000"},
    };
    for (const Row& row : rows) {
        const auto rendered = render_fixture(row.source, Json::object(), row.limits);
        ASSERT_FALSE(rendered.has_value()) << row.source;
        EXPECT_EQ(rendered.error().kind, ErrorKind::out_of_budget) << row.source;
        EXPECT_NE(rendered.error().message.find(row.message), std::string::npos)
            << rendered.error().message;
    }
}

// Goal: no string operation takes quadratic time on text made to provoke it.
// Method: searches of a long needle that nearly matches everywhere; plain comparison would take
// hours.
TEST(JinjaLimits, SearchesAreLinear) {
    const auto rendered = render_fixture(
        "{% set n = 'a' * 200000 ~ 'b' %}{% set m = 'b' ~ 'a' * 200000 %}{% set t = 'a' * "
        "400000 %}"
        "{{ n in t }}{{ t.find(n) }}{{ t.rfind(m) }}{{ t.count(n) }}{{ t.split(n) | length }}"
        "{{ t.rsplit(m) | length }}{{ t.replace(n, '') | length }}{{ (t ~ 'b').find(n) }}"
        "{{ (t ~ 'b' ~ t).rfind(m) }}",
        Json::object());
    ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
    EXPECT_EQ(rendered->bytes(), "False-1-1011400000200000400000");
}

// Goal: bounds leave room for real conversations.
// Method: 150 messages of 5,000 bytes, quadratic concatenation included, render under the default
// limits.
TEST(JinjaLimits, LeaveRoomForLongConversations) {
    Json messages = Json::array();
    for (int i = 0; i < 150; ++i)
        messages.push_back({{"role", "user"}, {"content", std::string(5000, 'x')}});
    const auto rendered = render_fixture(
        "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t + "
        "m.content.split('y')[-1] %}"
        "{% endfor %}{{ ns.t }}",
        {{"messages", messages}});
    ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
    EXPECT_EQ(rendered->size(), 150U * 5000U);
}

// Goal: JSON from outside keeps its numbers, its order and its depth bound.
// Method: 64-bit extremes and key order through tojson; nesting beyond the bound is refused.
TEST(JinjaInput, KeepsNumbersAndOrder) {
    const Json value = Json::parse(
        R"({"z": 18446744073709551615, "a": -9223372036854775808, "m": 1.0, "e": 1e300})");
    const auto rendered = render_fixture("{{ v | tojson }}", {{"v", value}});
    ASSERT_TRUE(rendered.has_value());
    EXPECT_EQ(rendered->bytes(),
              R"({"z": 18446744073709551615, "a": -9223372036854775808, "m": 1.0, "e": 1e+300})");
    Json deep = 1;
    for (size_t i = 0; i < kValueDepthMax + 2; ++i) deep = Json::array({deep});
    EXPECT_FALSE(render_fixture("x", {{"v", deep}}).has_value());
}

// Goal: values that refer to themselves through namespaces and macros are freed.
// Method: such cycles are built; the leak checker of the sanitizer build watches the test.
TEST(JinjaLifetime, CyclesAreFreed) {
    const auto rendered = render_fixture(
        "{% set ns = namespace() %}{% set ns.me = ns %}{% macro m() %}{{ ns.me is defined }}{% "
        "endmacro %}"
        "{% set ns.m = m %}{% for x in [1] %}{% set ns.loop = loop %}{% set ns.l = [ns, m, loop] %}"
        "{% macro k() %}{{ x }}{% endmacro %}{% set ns.k = k %}{% endfor %}{{ ns.m() }}{{ ns.k() "
        "}}",
        Json::object());
    ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
    EXPECT_EQ(rendered->bytes(), "True1");
}

}  // namespace
}  // namespace colibri::jinja
