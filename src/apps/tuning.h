// tune.json from the commands' side: where it is, whether it is for this model and machine, and
// what it means for options.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "apps/options.h"
#include "apps/terminal.h"
#include "base/error.h"
#include "format/tune_file.h"

namespace colibri {

inline constexpr std::string_view kTuneFileName = "tune.json";

// The options that coli tune varies, in the order in which it does.
inline constexpr std::array kTunableOptions{Opt::reader, Opt::in_flight, Opt::chunk, Opt::threads,
                                            Opt::prefetch};

// This machine, with the drives of that directory and of --dir.
[[nodiscard]] TuneMachine this_machine(const Settings& settings,
                                       const std::string& model_directory);

struct FoundTuning {
    enum class Kind : uint8_t {
        none,     // there is no such file
        applies,  // it is for this model and machine
        foreign,  // it is good, but for another model or machine
        damaged,  // or of a later version, or cannot be read
    };
    Kind kind = Kind::none;
    std::string path;
    TuneFile file;    // when it could be read
    std::string why;  // foreign and damaged: one line, naming the path
};
[[nodiscard]] FoundTuning find_tuning(const Settings& settings, const std::string& model_directory);

// "reader pread, threads 4: 1.07 times the defaults' speed, measured 2026-11-30T00:10:00Z"
[[nodiscard]] std::string tuning_summary(const TuneFile& file);

// Gives options that nobody has set what tune.json says, when it applies and --tune is on. One that
// does not is named in a note, except for commands that report on it themselves.
void apply_tuning(Command command, Settings& settings, const Console& console);

}  // namespace colibri
