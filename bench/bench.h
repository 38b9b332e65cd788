// What the subcommands of colibri_bench share: options, machine facts, one JSON line per result.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/kernels.h"

namespace colibri::bench {

// `--name value` pairs. A name that no getter ever asks for is an error (see unknown()).
class Options {
public:
    [[nodiscard]] static Result<Options> parse(std::span<const char* const> arguments);

    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise);
    // Errors: invalid_input naming the option and its value.
    [[nodiscard]] Result<uint32_t> count(const std::string& name, uint32_t otherwise);
    [[nodiscard]] Result<double> seconds(const std::string& name, double otherwise);
    [[nodiscard]] Result<uint64_t> bytes(const std::string& name, uint64_t otherwise);
    // --isa NAME, else the widest that this machine runs.
    [[nodiscard]] Result<const Kernels*> kernels();

    // Call after the last getter. Errors: invalid_input naming an option that has no meaning here.
    [[nodiscard]] Status unknown() const;

private:
    std::map<std::string, std::string> given_;
    std::map<std::string, bool> asked_;
};

// One flat JSON object, in the order of the calls.
class JsonLine {
public:
    explicit JsonLine(std::string_view benchmark);
    JsonLine& add(std::string_view name, std::string_view value);
    JsonLine& add(std::string_view name, double value);
    JsonLine& add(std::string_view name, uint64_t value);
    JsonLine& add(std::string_view name, bool value);
    JsonLine& add(std::string_view name, const std::vector<double>& values);
    // Processor, its usable cores and the commit (environment COLIBRI_COMMIT, when set).
    JsonLine& add_machine();
    void print() const;

private:
    void key(std::string_view name);

    std::string text_;
};

// Each prints its JSON lines and returns an error or nothing.
[[nodiscard]] Status run_membw(Options options);
[[nodiscard]] Status run_gemv(Options options);
[[nodiscard]] Status run_matmul(Options options);
[[nodiscard]] Status run_nano(Options options);
[[nodiscard]] Status run_resident_decode(Options options);
[[nodiscard]] Status run_routes_decode(Options options);
[[nodiscard]] Status run_disk_stream(Options options);
[[nodiscard]] Status run_recall(Options options);
[[nodiscard]] Status run_convert_speed(Options options);
[[nodiscard]] Status run_overlap(Options options);
[[nodiscard]] Status run_streamed_prefill(Options options);
[[nodiscard]] Status run_warm(Options options);
[[nodiscard]] Status run_residency(Options options);

}  // namespace colibri::bench
