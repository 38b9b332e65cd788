// colibri_bench SUBCOMMAND [--option value ...]: measurements as JSON lines on standard output.
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "bench/bench.h"

namespace {

using colibri::Status;
using colibri::bench::Options;

struct Subcommand {
    std::string_view name;
    Status (*run)(Options);
    std::string_view help;
};

constexpr std::array kSubcommands{
    Subcommand{"membw", colibri::bench::run_membw,
               "plain reads of memory: --bytes 4G --threads N --seconds 5"},
    Subcommand{
        "gemv", colibri::bench::run_gemv,
        "decode products over a large weight set, interleaved with membw:\n"
        "            --format int8-row|int8-g64|int4-g64|fp8-g128|bf16|f32 --bytes 4G --isa NAME\n"
        "            --threads N --pairs 9 --seconds 5 --turn 0.25 --rows 1"},
    Subcommand{"matmul", colibri::bench::run_matmul,
               "products of one matrix in the cache beside the peak of fma: --format F --isa NAME\n"
               "            --rows 64 --outputs 2048 --columns 6144 --seconds 1 --threads 1"},
    Subcommand{"decode", colibri::bench::run_resident_decode,
               "a synthetic model that lies in memory, interleaved with membw:\n"
               "            --format int8-row|int4-g64 --bytes 4G --directory build --threads N\n"
               "            --pairs 9 --seconds 5 --turn 0.25 --isa NAME\n"
               "            --pairs-max 9 (more: goes on while the probe varies too much)"},
    Subcommand{"routes", colibri::bench::run_routes_decode,
               "decode along recorded routes, guessing the next layer's experts off and on:\n"
               "            --routes TRACE --model DIR (made when absent) --expert 1M --layers N\n"
               "            --ram 1G --recall 68 --policy frequency|lru --threads N --isa NAME\n"
               "            --directory build --pairs 9 --seconds 5"},
    Subcommand{
        "disk", colibri::bench::run_disk_stream,
        "experts through the store, interleaved with plain reads of the same file:\n"
        "            --mode decode|scan --expert 2M --bytes 8G --routes TRACE --depth 8 --probe "
        "raw|reader\n"
        "            --slots-percent 10 --reader auto|uring|pread|buffered --chunk 1M\n"
        "            --in-flight 12M --file PATH (kept) --directory build --pairs 9 --seconds 5\n"
        "            --turn 1 --pairs-max 9"},
    Subcommand{"recall", colibri::bench::run_recall,
               "experts that the next layer's router names beforehand: --ids FILE of token ids\n"
               "            --model DIR --ram 40M"},
    Subcommand{"convert", colibri::bench::run_convert_speed,
               "a conversion against plain reads and writes of as many bytes:\n"
               "            --source DIR (made when absent) --bytes 6G --experts int4-g64\n"
               "            --directory build --threads N --pairs 9"},
    Subcommand{
        "overlap", colibri::bench::run_overlap,
        "decode along recorded routes beside its bounds, the drive and the processor alone:\n"
        "            --routes TRACE --model DIR (made when absent) --expert 1M --layers N\n"
        "            --ram 2G --prefetch auto|on|off --ctx 2048 --threads N --isa NAME\n"
        "            --chunk 1M --in-flight 12M\n"
        "            --pairs 9 --seconds 5 --turn 1"},
    Subcommand{"prefill", colibri::bench::run_streamed_prefill,
               "a long prompt, as overlap: --rows 1024"},
    Subcommand{
        "warm", colibri::bench::run_warm,
        "filling the cache from the history at the start, and what the first token waits for\n"
        "            it: as overlap, --state DIR"},
    Subcommand{"residency", colibri::bench::run_residency,
               "peak resident set against the plan, slots and context filled: as overlap"},
    Subcommand{"nano", colibri::bench::run_nano,
               "the bundled model, all experts resident: decode, prefill, first token, memory:\n"
               "            --model DIR --threads N --rows 512 --rounds 9 --seconds 5 --isa NAME"},
};

int usage() {
    fmt::print(stderr, "usage: colibri_bench SUBCOMMAND [--option value ...]\n");
    for (const Subcommand& subcommand : kSubcommands)
        fmt::print(stderr, "  {:9}  {}\n", subcommand.name, subcommand.help);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return usage();
    for (const Subcommand& subcommand : kSubcommands) {
        if (subcommand.name != argv[1]) continue;
        auto options = Options::parse({argv + 2, size_t(argc) - 2});
        const Status status =
            options ? subcommand.run(*std::move(options)) : tl::unexpected(options.error());
        if (status) return 0;
        fmt::print(stderr, "colibri_bench {}: {}\n", argv[1], status.error().message);
        return status.error().kind == colibri::ErrorKind::invalid_input ? 2 : 1;
    }
    return usage();
}
