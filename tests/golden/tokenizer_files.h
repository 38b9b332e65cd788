// The vocabularies and vectors of tests/golden/tokenizers.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace colibri {

inline const std::string kTokenizerFiles = COLIBRI_SOURCE_DIR "/tests/golden/tokenizers/";

// A whole file; the test fails when it cannot be read.
inline std::string read_tokenizer_file(const std::string& name) {
    std::ifstream file(kTokenizerFiles + name, std::ios::binary);
    EXPECT_TRUE(file.good()) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace colibri
