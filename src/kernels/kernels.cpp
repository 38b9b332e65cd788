#include "kernels/kernels.h"

#include <array>

#include "kernels/tables.h"

namespace colibri {

namespace {

struct IsaRow {
    Isa isa;
    std::string_view name;
    bool (*runs_here)();
    const Kernels* (*table)();
};

#if defined(__x86_64__)
// The builtin asks the processor and, for the wide registers, whether the system saves them
// (XGETBV).
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
}
constexpr std::array kIsas{
    IsaRow{Isa::reference, "reference", [] { return true; }, reference_table},
    IsaRow{Isa::avx2, "avx2", has_avx2, avx2_table},
    IsaRow{Isa::avx512, "avx512", has_avx512, avx512_table},
    IsaRow{Isa::neon, "neon", [] { return false; }, nullptr},
};
#elif defined(__aarch64__)
constexpr std::array kIsas{
    IsaRow{Isa::reference, "reference", [] { return true; }, reference_table},
    IsaRow{Isa::avx2, "avx2", [] { return false; }, nullptr},
    IsaRow{Isa::avx512, "avx512", [] { return false; }, nullptr},
    IsaRow{Isa::neon, "neon", [] { return true; }, neon_table},
};
#else
constexpr std::array kIsas{
    IsaRow{Isa::reference, "reference", [] { return true; }, reference_table},
    IsaRow{Isa::avx2, "avx2", [] { return false; }, nullptr},
    IsaRow{Isa::avx512, "avx512", [] { return false; }, nullptr},
    IsaRow{Isa::neon, "neon", [] { return false; }, nullptr},
};
#endif

}  // namespace

std::string_view to_string(Isa isa) {
    return kIsas[size_t(isa)].name;
}

std::optional<Isa> isa_from_string(std::string_view name) {
    for (const IsaRow& row : kIsas)
        if (row.name == name) return row.isa;
    return std::nullopt;
}

const Kernels* kernels_for(Isa isa) {
    const IsaRow& row = kIsas[size_t(isa)];
    return row.runs_here() ? row.table() : nullptr;
}

const Kernels& best_kernels() {
    return *kernels_for(available_isas().back());
}

std::vector<Isa> available_isas() {
    std::vector<Isa> isas;
    for (const IsaRow& row : kIsas)
        if (row.runs_here()) isas.push_back(row.isa);
    return isas;
}

}  // namespace colibri
