#include "tensor/format_names.h"

#include <gtest/gtest.h>

namespace colibri {
namespace {

// Goal: every format has one name, which reads back.
// Method: each kind with the groups it may have; texts that are close to a name.
TEST(FormatNames, RoundTripAndRefusals) {
    const WeightFormat formats[] = {{.kind = WeightKind::f32},
                                    {.kind = WeightKind::bf16},
                                    {.kind = WeightKind::fp8, .group = 128},
                                    {.kind = WeightKind::int8},
                                    {.kind = WeightKind::int8, .group = 64},
                                    {.kind = WeightKind::int4},
                                    {.kind = WeightKind::int4, .group = 128}};
    for (const WeightFormat& format : formats)
        EXPECT_EQ(parse_weight_format(to_string(format)), format) << to_string(format);
    for (const char* text : {"", "int4", "int4-", "int4-g", "int4-g0", "int4-g12", "int8-g8",
                             "int8-g24", "int4-g064", "int4-g64 ", "int4-g99999999999", "int4-g-64",
                             "INT4-g64", "f32-g64", "bf16-row", "q4", "int4-row-g64"})
        EXPECT_FALSE(parse_weight_format(text).has_value()) << text;
}

}  // namespace
}  // namespace colibri
