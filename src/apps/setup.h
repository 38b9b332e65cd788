// From checked options to what the engine is opened with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/options.h"
#include "apps/terminal.h"
#include "base/error.h"
#include "colibri/engine.h"
#include "runtime/model.h"

namespace colibri {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitMisused = 2;
inline constexpr int kExitInterrupted = 130;

// Print the error and return the exit code. misused adds where to read on.
int failed(const Console& console, const Error& error);
int misused(const Console& console, Command command, const Error& error);

// --model, or the bundled model: found relative to the program, in a build tree or below an
// installation's share/. Errors: invalid_input saying what to do when there is neither.
[[nodiscard]] Result<std::string> model_directory(const Settings& settings);

// Errors: invalid_input when this machine has no such --isa, naming those it has.
[[nodiscard]] Result<EngineOptions> engine_options(const Settings& settings);
[[nodiscard]] Result<ModelOptions> model_options(const Settings& settings);

// The options that coli tune may choose.
[[nodiscard]] Tunables chosen_tunables(const Settings& settings);
// --dir.
[[nodiscard]] std::vector<std::string> split_directories(const Settings& settings);

// --state-dir, or where state files of a model are by themselves (docs/cache.md).
struct StatePlaces {
    std::string directory, fallback;
};
[[nodiscard]] StatePlaces state_places(const Settings& settings,
                                       const std::string& model_directory);

// --usage, --state-dir and --warm: for commands that keep a usage history.
void use_history(const Settings& settings, EngineOptions& options);

// A number from the system's entropy, for --seed random.
[[nodiscard]] uint64_t random_seed();

// --temp and so on over the model's recommendation; --greedy.
[[nodiscard]] SamplingOptions sampling_options(const Settings& settings,
                                               const SamplingOptions& recommended, uint64_t seed);

// What ends an answer: --max-tokens, --stop, --loop-guard. Errors: invalid_input for a stop text
// that is none.
[[nodiscard]] Result<GenerateOptions> answer_limits(const Settings& settings);

// Opens the engine with progress on a terminal and notices shown.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_engine(EngineOptions options,
                                                          const Console& console);
[[nodiscard]] Result<std::unique_ptr<Model>> open_model(ModelOptions options,
                                                        const Console& console);

// Options in use that make answers differ from what the checkpoint defines, by name.
[[nodiscard]] std::vector<std::string> lossy_options(const Settings& settings);

// A prompt or text from standard input or a file. A final line feed is dropped. Errors: io;
// invalid_input beyond the limit.
inline constexpr uint64_t kInputBytesMax = 64 << 20;
[[nodiscard]] Result<std::string> read_standard_input();

}  // namespace colibri
