// A reference fixture: prompts and what an independent implementation computes on them (README.md
// beside this file).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace colibri::golden {

struct Case {
    std::vector<int32_t> prompt, argmax, greedy, drafts;
    int32_t bonus = -1;
    uint32_t first_logit_row = 0;  // logits are recorded from this row on
    double smallest_gap = 0;       // of greedy decisions, relative; 0 when not recorded
};

struct Array {
    std::vector<uint64_t> shape;
    std::vector<float> floats;  // F32
    std::vector<int32_t> ints;  // I32
};

struct Fixture {
    std::string directory;
    std::vector<Case> cases;
    bool exact_greedy = true;
    std::map<std::string, Array> arrays;  // "p0.logits"
};

[[nodiscard]] Result<Fixture> load_fixture(const std::string& directory);

}  // namespace colibri::golden
