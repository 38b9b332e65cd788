#include "apps/setup.h"

#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>
#include <sstream>

#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "apps/line_reader.h"
#include "base/units.h"
#include "decode/stop.h"
#include "kernels/kernels.h"
#include "platform/reader.h"

namespace colibri {

namespace {

std::filesystem::path program_directory() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

bool holds_model(const std::filesystem::path& directory) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(directory / "config.json", ignored);
}

// One line each.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> list;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) list.push_back(line);
    return list;
}

Result<std::string> unescaped(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        const char next = i + 1 < text.size() ? text[++i] : '\0';
        if (next != 'n' && next != 't' && next != '\\')
            return fail(ErrorKind::invalid_input,
                        fmt::format("--stop {}: a backslash begins \\n, \\t or \\\\", text));
        out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    }
    return out;
}

// "DIR" or "DIR@3.2", a line each. What follows an @ and is no number belongs to the name.
std::vector<MirrorDirectory> mirror_directories(const Settings& settings) {
    std::vector<MirrorDirectory> mirrors;
    for (const std::string& line : lines_of(settings.text(Opt::mirror))) {
        MirrorDirectory mirror{.directory = line};
        const size_t at = line.find_last_of('@');
        if (at != std::string::npos && at > 0 && at + 1 < line.size()) {
            char* end = nullptr;
            const double speed = std::strtod(line.c_str() + at + 1, &end);
            if (*end == '\0' && speed > 0 && speed < 1e6)
                mirror = {.directory = line.substr(0, at), .bytes_per_s = speed * 1e9};
        }
        mirrors.push_back(std::move(mirror));
    }
    return mirrors;
}

ReaderKind chosen_reader(const Settings& settings) {
    const std::string name = settings.text(Opt::reader);
    for (const ReaderKind kind : {ReaderKind::uring, ReaderKind::pread, ReaderKind::buffered})
        if (name == to_string(kind)) return kind;
    return ReaderKind::automatic;
}

// The kernels that --isa names; null for auto.
Result<const Kernels*> chosen_kernels(const Settings& settings) {
    const std::string name = settings.text(Opt::isa);
    if (name.empty() || name == "auto") return nullptr;
    const auto isa = isa_from_string(name);
    const Kernels* kernels = isa ? kernels_for(*isa) : nullptr;
    if (kernels != nullptr) return kernels;
    std::string available;
    for (const Isa each : available_isas())
        available += fmt::format("{}{}", available.empty() ? "" : ", ", to_string(each));
    return fail(ErrorKind::invalid_input,
                fmt::format("{}: this machine cannot run '{}'; it has: {}",
                            settings.at(Opt::isa).origin, name, available));
}

std::string progress_line(std::string_view step, uint64_t done_bytes, uint64_t total_bytes) {
    if (total_bytes == 0) return std::string(step);
    return fmt::format("{}: {} of {} ({:.0f} %)", step, format_bytes(done_bytes),
                       format_bytes(total_bytes), 100.0 * double(done_bytes) / double(total_bytes));
}

}  // namespace

int failed(const Console& console, const Error& error) {
    console.error(error.message);
    return error.kind == ErrorKind::cancelled ? kExitInterrupted : kExitFailed;
}

int misused(const Console& console, Command command, const Error& error) {
    console.error(error.message);
    console.err.write(fmt::format("coli {} --help shows its options\n", spec_of(command).words));
    return kExitMisused;
}

Result<std::string> model_directory(const Settings& settings) {
    if (std::string given = settings.text(Opt::model); !given.empty()) return given;
    const std::filesystem::path program = program_directory();
    for (const char* place : {"../../models/nano", "../share/colibri/models/nano", "models/nano"}) {
        const std::filesystem::path candidate = (program / place).lexically_normal();
        if (holds_model(candidate)) return candidate.string();
    }
    return fail(ErrorKind::invalid_input,
                "no model: give its directory with --model DIR or COLI_MODEL (the bundled "
                "model is not beside this program)");
}

std::vector<std::string> split_directories(const Settings& settings) {
    return lines_of(settings.text(Opt::dir));
}

Result<EngineOptions> engine_options(const Settings& settings) {
    EngineOptions options;
    TRY(options.model_directory, model_directory(settings));
    TRY(const Kernels* kernels, chosen_kernels(settings));
    options.ram_budget_bytes = settings.count(Opt::ram).value_or(0);
    options.context = uint32_t(settings.count(Opt::ctx).value_or(0));
    options.activations =
        settings.text(Opt::activations) == "f32" ? Activations::f32 : Activations::automatic;
    if (kernels != nullptr) options.isa = to_string(kernels->isa);
    options.threads = uint32_t(settings.count(Opt::threads).value_or(0));
    options.prefill_slice = uint32_t(settings.count(Opt::prefill_slice).value_or(0));
    options.dense_attention = settings.on(Opt::dense_attention);
    options.reader = to_string(chosen_reader(settings));
    options.in_flight_bytes = settings.count(Opt::in_flight).value_or(0);
    options.chunk_bytes = settings.count(Opt::chunk).value_or(0);
    options.split_directories = split_directories(settings);
    options.mirrors = mirror_directories(settings);
    if (settings.text(Opt::policy) == "lru") options.policy = CachePolicy::lru;
    const std::string prefetch = settings.text(Opt::prefetch);
    if (prefetch == "on") options.prefetch = Prefetch::on;
    if (prefetch == "off") options.prefetch = Prefetch::off;
    return options;
}

StatePlaces state_places(const Settings& settings, const std::string& model_directory) {
    const std::string given = settings.text(Opt::state_dir);
    if (!given.empty()) return {.directory = given, .fallback = ""};
    const std::string user = state_directory();
    return {.directory = model_directory + "/.colibri",
            .fallback = user.empty() ? "" : user + "/models"};
}

void use_history(const Settings& settings, EngineOptions& options) {
    options.warm = settings.on(Opt::warm);
    if (!settings.on(Opt::usage)) return;
    const StatePlaces places = state_places(settings, options.model_directory);
    options.state_directory = places.directory;
    options.fallback_state_directory = places.fallback;
}

Tunables chosen_tunables(const Settings& settings) {
    Tunables tunables{.threads = uint32_t(settings.count(Opt::threads).value_or(0)),
                      .reader = chosen_reader(settings),
                      .in_flight_bytes = settings.count(Opt::in_flight).value_or(0),
                      .chunk_bytes = settings.count(Opt::chunk).value_or(0)};
    const std::string prefetch = settings.text(Opt::prefetch);
    if (prefetch == "on") tunables.prefetch = PrefetchMode::on;
    if (prefetch == "off") tunables.prefetch = PrefetchMode::off;
    return tunables;
}

Result<ModelOptions> model_options(const Settings& settings) {
    ModelOptions options;
    TRY(options.directory, model_directory(settings));
    TRY(options.kernels, chosen_kernels(settings));
    options.ram_budget_bytes = settings.count(Opt::ram).value_or(0);
    options.context = uint32_t(settings.count(Opt::ctx).value_or(0));
    options.float_activations = settings.text(Opt::activations) == "f32";
    options.prefill_slice = uint32_t(settings.count(Opt::prefill_slice).value_or(0));
    options.dense_attention = settings.on(Opt::dense_attention);
    const Tunables tunables = chosen_tunables(settings);
    options.threads = tunables.threads;
    options.reader = tunables.reader;
    options.in_flight_bytes = tunables.in_flight_bytes;
    options.chunk_bytes = tunables.chunk_bytes;
    options.prefetch = tunables.prefetch;
    options.split_directories = split_directories(settings);
    for (const MirrorDirectory& mirror : mirror_directories(settings))
        options.mirrors.push_back(
            {.directory = mirror.directory, .bytes_per_s = mirror.bytes_per_s});
    if (settings.text(Opt::policy) == "lru") options.policy = PolicyKind::lru;
    return options;
}

uint64_t random_seed() {
    std::random_device device;
    return uint64_t(device()) << 32 | device();
}

SamplingOptions sampling_options(const Settings& settings, const SamplingOptions& recommended,
                                 uint64_t seed) {
    SamplingOptions sampling = recommended;
    if (const auto value = settings.number(Opt::temp)) sampling.temperature = float(*value);
    if (const auto value = settings.number(Opt::top_p)) sampling.top_p = float(*value);
    if (const auto value = settings.count(Opt::top_k)) sampling.top_k = uint32_t(*value);
    if (const auto value = settings.number(Opt::min_p)) sampling.min_p = float(*value);
    if (settings.on(Opt::greedy)) sampling.temperature = 0;
    sampling.seed = seed;
    return sampling;
}

Result<GenerateOptions> answer_limits(const Settings& settings) {
    GenerateOptions options;
    options.max_tokens = uint32_t(settings.count(Opt::max_tokens).value_or(0));
    options.loop_guard = uint32_t(settings.count(Opt::loop_guard).value_or(0));
    for (const std::string& line : lines_of(settings.text(Opt::stop))) {
        TRY(std::string text, unescaped(line));
        options.stop_strings.push_back(std::move(text));
    }
    if (const auto matcher = StopMatcher::create(options.stop_strings); !matcher)
        return tl::unexpected(Error(matcher.error()).within("--stop"));
    return options;
}

Result<std::unique_ptr<Engine>> open_engine(EngineOptions options, const Console& console) {
    Progress progress(console.err);
    options.progress = [&](const LoadProgress& at) {
        progress.show(progress_line(at.step, at.done_bytes, at.total_bytes));
    };
    Notices notices;
    auto engine = Engine::open(options, notices);
    progress.clear();
    console.show(notices);
    return engine;
}

Result<std::unique_ptr<Model>> open_model(ModelOptions options, const Console& console) {
    Progress progress(console.err);
    options.progress = [&](std::string_view step, uint64_t done_bytes, uint64_t total_bytes) {
        progress.show(progress_line(step, done_bytes, total_bytes));
    };
    Notices notices;
    auto model = Model::open(options, notices);
    progress.clear();
    console.show(notices);
    return model;
}

std::vector<std::string> lossy_options(const Settings& settings) {
    std::vector<std::string> names;
    if (settings.on(Opt::dense_attention)) names.emplace_back("dense-attention");
    return names;
}

Result<std::string> read_standard_input() {
    std::string text;
    char buffer[65536];
    while (true) {
        const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return fail(ErrorKind::io,
                        fmt::format("standard input: {}", std::generic_category().message(errno)));
        if (count == 0) break;
        text.append(buffer, size_t(count));
        if (text.size() > kInputBytesMax)
            return fail(ErrorKind::invalid_input,
                        fmt::format("standard input is longer than {}, the most a prompt may have",
                                    format_bytes(kInputBytesMax)));
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace colibri
