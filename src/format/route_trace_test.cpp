#include "format/route_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace colibri {

namespace {

const std::string kHead =
    "# route_trace v1\n"
    "# model=some.gguf arch=gemma4 n_layer=2 n_expert=128 n_expert_used=2\n"
    "# layer=0 expert_bytes=4336640 dense_bytes=44191236\n"
    "# layer=1 expert_bytes=3593216 dense_bytes=38987268\n"
    "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n";

std::string refusal(const std::string& text) {
    const auto trace = parse_route_trace(text, "t.csv");
    return trace ? "" : trace.error().message;
}

}  // namespace

// Goal: every kind of line means what the format says.
// Method: a trace written by hand with two phases and two layers; steps and choices by hand.
TEST(RouteTrace, ReadsStepsAndChoices) {
    const auto trace = parse_route_trace(kHead +
                                             "0,0,0,0,0,79,0.425021,0,4336640\n"
                                             "0,0,0,0,1,102,0.0513,0,0\n"
                                             "0,0,1,0,0,79,1,1,0\r\n"
                                             "# a remark\n"
                                             "\n"
                                             "2,1,2,1,0,127,9.5e-05,0,3593216\n"
                                             "2,1,2,1,1,0,-0.5,1,0",
                                         "t.csv");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->model, "some.gguf");
    EXPECT_EQ(trace->arch, "gemma4");
    EXPECT_EQ(trace->experts, 128U);
    EXPECT_EQ(trace->experts_used, 2U);
    ASSERT_EQ(trace->layers.size(), 2U);
    EXPECT_EQ(trace->layers[1].expert_bytes, 3593216U);
    EXPECT_EQ(trace->layers[0].dense_bytes, 44191236U);
    ASSERT_EQ(trace->steps.size(), 3U);
    EXPECT_FALSE(trace->steps[0].decode);
    EXPECT_EQ(trace->steps[1].position, 1U);
    EXPECT_EQ(trace->steps[1].choice_count, 1U);
    const RouteTrace::Step& last = trace->steps[2];
    EXPECT_EQ(last.turn, 2U);
    EXPECT_TRUE(last.decode);
    EXPECT_EQ(last.layer, 1U);
    const auto choices = trace->choices_of(last);
    ASSERT_EQ(choices.size(), 2U);
    EXPECT_EQ(choices[0].expert, 127U);
    EXPECT_EQ(choices[0].weight, 9.5e-05F);
    EXPECT_EQ(choices[0].read_bytes, 3593216U);
    EXPECT_FALSE(choices[0].resident);
    EXPECT_TRUE(choices[1].resident);
}

// Goal: what is written is what the original writes, and reading gives it back.
// Method: a text in the format, parsed and written again.
TEST(RouteTrace, WritesTheSameText) {
    const std::string text = kHead +
                             "0,0,0,0,0,79,0.425021,0,4336640\n"
                             "0,0,0,0,1,102,0.358799,0,4336640\n"
                             "0,1,1,1,0,3,0.75,1,0\n";
    const auto trace = parse_route_trace(text, "t.csv");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(format_route_trace(*trace), text);
}

// Goal: a line that does not fit is refused with its number and what was expected.
// Method: one fault in each text.
TEST(RouteTrace, RefusesWhatDoesNotFit) {
    using testing::HasSubstr;
    const auto with = [](const std::string& line) { return refusal(kHead + line + "\n"); };
    EXPECT_THAT(refusal(""), HasSubstr("line of columns"));
    EXPECT_THAT(refusal("turn,phase\n"), HasSubstr("line 1: 'turn,phase' is not"));
    EXPECT_THAT(refusal("# route_trace v2\n"), HasSubstr("version 'v2'"));
    EXPECT_THAT(refusal("# route_trace v1\nturn,phase\n"), HasSubstr("instead of the columns"));
    EXPECT_THAT(refusal("# route_trace v1\n" + kHead.substr(kHead.find("turn"))),
                HasSubstr("n_expert"));
    EXPECT_THAT(refusal("# route_trace v1\n# model=m n_layer=2 n_expert=4294967295 "
                        "n_expert_used=2\n"),
                HasSubstr("n_expert is '4294967295', expected a number from 1 to 65536"));
    EXPECT_THAT(refusal("# route_trace v1\n# model=m n_layer=4096 n_expert=65536 "
                        "n_expert_used=2\n"),
                HasSubstr("experts in all"));
    EXPECT_THAT(refusal("# route_trace v1\n# model=m n_layer=2 n_expert=4 n_expert_used=5\n"),
                HasSubstr("n_expert_used is '5'"));
    EXPECT_THAT(refusal("# route_trace v1\n# layer=0 expert_bytes=1\n"), HasSubstr("of 0"));
    EXPECT_THAT(with("0,1,29,0,0,79,0.4,0"), HasSubstr("line 6: '0,1,29,0,0,79,0.4,0' does not"));
    EXPECT_THAT(with("0,1,29,0,0,79,0.4,0,0,0"), HasSubstr("does not have the 9 columns"));
    EXPECT_THAT(with("0,1,29,0,0,x,0.4,0,0"), HasSubstr("column 6 is 'x'"));
    EXPECT_THAT(with("0,1,29,0,0,-1,0.4,0,0"), HasSubstr("column 6 is '-1'"));
    EXPECT_THAT(with("0,1,29,2,0,1,0.4,0,0"), HasSubstr("layer 2 expert 1; the header has 2"));
    EXPECT_THAT(with("0,1,29,0,0,128,0.4,0,0"), HasSubstr("expert 128"));
    EXPECT_THAT(with("0,2,29,0,0,1,0.4,0,0"), HasSubstr("phase and residency"));
    EXPECT_THAT(with("0,1,29,0,0,1,inf,0,0"), HasSubstr("finite"));
    EXPECT_THAT(with("0,1,29,0,1,1,0.4,0,0"), HasSubstr("slot 1 does not follow"));
    EXPECT_THAT(with("0,1,29,0,0,1,0.4,0,0\n0,1,29,0,1,1,0.4,0,0"), HasSubstr("expert 1 twice"));
    EXPECT_THAT(with("0,1,29,0,0,1,0.4,0,0\n0,1,29,1,1,2,0.4,0,0"), HasSubstr("line 7: slot 1"));
}

}  // namespace colibri
