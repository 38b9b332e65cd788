// Which format each class of tensors gets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "load/bind.h"
#include "tensor/weight_matrix.h"

namespace colibri {

// Tensors that a user may want to treat alike. Routers, indexer gates, norms and biases are not
// among them: they are kept exactly.
enum class TensorClass : uint8_t {
    experts,    // gate, up, down
    attention,  // query, query_a, query_b, key, value, kv_a, kv_b, output
    indexer,    // query, key
    shared,     // gate, up, down
    dense,      // gate, up, down of layers without experts
    embedding,
    head,
    draft_experts,  // of the draft layer
    draft_dense,    // its other matrices
};
inline constexpr size_t kTensorClasses = 9;
[[nodiscard]] std::string_view to_string(TensorClass tensor_class);

// Keep: as the source has it, exactly. Automatic: the defaults of default_format().
struct FormatChoice {
    enum class Kind : uint8_t { automatic, keep, format };
    Kind kind = Kind::automatic;
    WeightFormat format;
    friend bool operator==(const FormatChoice&, const FormatChoice&) = default;
};

struct Recipe {
    // [class][projection]: index 0 is the class as a whole, 1 to 8 its projections in the order of
    // the comments above.
    std::array<std::array<FormatChoice, 9>, kTensorClasses> choices{};

    // `text`: "auto", "keep", "int8" (int8-g64), "fp8" (fp8-g128) or a format's name. Errors:
    // invalid_input listing what there is.
    [[nodiscard]] Status set_experts(std::string_view text);
    [[nodiscard]] Status set_dense(std::string_view text);  // all classes but experts and draft
    [[nodiscard]] Status set_draft(std::string_view text);  // both draft classes
    // "CLASS=FORMAT,CLASS.PROJECTION=FORMAT,...", later entries over earlier ones.
    [[nodiscard]] Status set_overrides(std::string_view text);

    // What the tensor gets. `source` is its present format.
    [[nodiscard]] WeightFormat expert_format(bool draft, uint32_t part, WeightFormat source) const;
    [[nodiscard]] WeightFormat dense_format(TensorRole role, bool draft, WeightFormat source) const;

    // One line that is the same for equal recipes.
    [[nodiscard]] std::string canonical() const;
};

// The formats that convert can write, for messages: "f32, bf16, ...".
[[nodiscard]] std::string writable_formats();

}  // namespace colibri
