// The table itself: rows in the order of Opt and of the help pages.

#include "apps/options.h"
#include "base/check.h"

namespace colibri {

namespace {

template <class... Commands>
constexpr uint32_t in(Commands... commands) {
    return ((1U << uint32_t(commands)) | ...);
}

using enum Command;
constexpr uint32_t kEval = in(eval_logits, eval_trace, eval_ppl);
constexpr uint32_t kAnswer = in(run, chat);
constexpr uint32_t kAll = kAnswer | in(info, plan, doctor) | kEval | in(trace_record);

constexpr double kMost32 = 4294967295.0;
constexpr double kMost64 = 18446744073709551615.0;

constexpr std::string_view kModel = "Model and machine";
constexpr std::string_view kPrompt = "Prompt";
constexpr std::string_view kSampling = "Sampling";
constexpr std::string_view kOutput = "Output";
constexpr std::string_view kEvaluation = "Evaluation";
constexpr std::string_view kPlanning = "Planning and checking";
constexpr std::string_view kConversion = "Conversion";
constexpr std::string_view kConfiguration = "Configuration";

constexpr OptionSpec kOptions[] = {
    {.id = Opt::model,
     .name = "model",
     .type = OptionType::path,
     .placeholder = "DIR",
     .fallback = "bundled",
     .commands = kAll,
     .group = kModel,
     .help = "Directory of the model. Bundled: the small model that comes with colibri."},
    {.id = Opt::ram,
     .name = "ram",
     .type = OptionType::bytes,
     .placeholder = "SIZE",
     .fallback = "auto",
     .least = 1048576,
     .most = 1125899906842624,
     .commands = kAll,
     .group = kModel,
     .help = "Memory that the whole process may use: 800M, 1.5G; a plain number is GiB. Auto: what "
             "the machine has free, minus a reserve. Decides speed, never the answer."},
    {.id = Opt::ctx,
     .name = "ctx",
     .type = OptionType::count,
     .placeholder = "N",
     .fallback = "auto",
     .least = 1,
     .most = 16777216,
     .commands = kAll,
     .group = kModel,
     .help = "Positions of context to keep memory for. Auto: 4096 or the model's maximum, "
             "whichever is less; for eval logits and trace what the tokens need."},
    {.id = Opt::threads,
     .name = "threads",
     .type = OptionType::count,
     .placeholder = "N",
     .fallback = "auto",
     .least = 1,
     .most = 1024,
     .commands = kAll | in(convert),
     .group = kModel,
     .help = "Threads that compute. Auto: the physical cores this process may use. Never changes "
             "the answer."},
    {.id = Opt::isa,
     .name = "isa",
     .type = OptionType::choice,
     .placeholder = "NAME",
     .fallback = "auto",
     .choices = "auto|reference|avx2|avx512|neon",
     .commands = kAll,
     .group = kModel,
     .help = "Instruction set of the kernels. Auto: the widest this machine has. Never changes the "
             "answer."},
    {.id = Opt::activations,
     .name = "activations",
     .type = OptionType::choice,
     .placeholder = "KIND",
     .fallback = "auto",
     .choices = "auto|f32",
     .commands = kAll,
     .group = kModel,
     .help = "Arithmetic of matrix products. Auto: activations are quantized to int8 where weights "
             "are integers, and are floats elsewhere. f32: floats everywhere, the reference for "
             "correctness."},
    {.id = Opt::dense_attention,
     .name = "dense-attention",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = kAll,
     .group = kModel,
     .help = "Lossy: where the checkpoint lacks the key indexer that its configuration asks for, "
             "attend to everything beyond index_topk positions instead of refusing."},
    {.id = Opt::prefill_slice,
     .name = "prefill-slice",
     .type = OptionType::count,
     .placeholder = "N",
     .fallback = "auto",
     .least = 1,
     .most = 1048576,
     .commands = kAll,
     .group = kModel,
     .help = "Prompt positions that go through a layer together. Auto: as many as memory allows. "
             "Never changes the answer."},
    {.id = Opt::reader,
     .name = "reader",
     .type = OptionType::choice,
     .placeholder = "KIND",
     .fallback = "auto",
     .choices = "auto|uring|pread|buffered",
     .commands = kAll,
     .group = kModel,
     .help = "How experts are read from disk: io_uring or threads, both past the page cache; or "
             "threads through it. Auto: io_uring where the system allows it, else threads. Never "
             "changes the answer."},

    {.id = Opt::policy,
     .name = "policy",
     .type = OptionType::choice,
     .placeholder = "NAME",
     .fallback = "frequency",
     .choices = "frequency|lru",
     .commands = kAll,
     .group = kModel,
     .help = "Which expert leaves memory when another needs its place. frequency: the one used "
             "least, old uses counting less, with a share of the memory for every layer. lru: the "
             "one used longest ago. Decides speed, never the answer."},

    {.id = Opt::prompt,
     .name = "prompt",
     .type = OptionType::text,
     .placeholder = "TEXT",
     .fallback = "",
     .commands = in(run, trace_record),
     .everywhere = false,
     .group = kPrompt,
     .help = "The prompt, instead of words after the options or standard input."},
    {.id = Opt::system,
     .name = "system",
     .type = OptionType::text,
     .placeholder = "TEXT",
     .fallback = "",
     .commands = kAnswer,
     .group = kPrompt,
     .help = "System prompt."},
    {.id = Opt::raw,
     .name = "raw",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = in(run),
     .group = kPrompt,
     .help = "Continue the prompt as it stands: no chat template; control tokens in it are "
             "recognized."},
    {.id = Opt::think,
     .name = "think",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = kAnswer,
     .group = kPrompt,
     .help = "Let the model reason before it answers. Reasoning goes to standard error, dimmed on "
             "a terminal; the answer alone to standard output."},

    {.id = Opt::max_tokens,
     .name = "max-tokens",
     .type = OptionType::count,
     .placeholder = "N",
     .fallback = "auto",
     .least = 1,
     .most = kMost32,
     .commands = kAnswer,
     .group = kSampling,
     .help = "Longest answer, reasoning included. Auto: what the context has room for."},
    {.id = Opt::temp,
     .name = "temp",
     .type = OptionType::number,
     .placeholder = "T",
     .fallback = "model",
     .least = 0,
     .most = 100,
     .commands = kAnswer,
     .group = kSampling,
     .help = "Temperature; 0 is greedy. Model: what its generation_config.json recommends, else "
             "1."},
    {.id = Opt::top_p,
     .name = "top-p",
     .type = OptionType::number,
     .placeholder = "P",
     .fallback = "model",
     .least = 0,
     .most = 1,
     .commands = kAnswer,
     .group = kSampling,
     .help = "Draw from the fewest tokens that hold this share of probability; 1 is off. Model: "
             "its recommendation, else 0.95."},
    {.id = Opt::top_k,
     .name = "top-k",
     .type = OptionType::count,
     .placeholder = "K",
     .fallback = "model",
     .least = 0,
     .most = kMost32,
     .commands = kAnswer,
     .group = kSampling,
     .help = "Draw from the K most probable tokens; 0 is off. Model: its recommendation, else 0."},
    {.id = Opt::min_p,
     .name = "min-p",
     .type = OptionType::number,
     .placeholder = "P",
     .fallback = "model",
     .least = 0,
     .most = 1,
     .commands = kAnswer,
     .group = kSampling,
     .help = "Draw from tokens at least P times as probable as the best; 0 is off. Model: its "
             "recommendation, else 0."},
    {.id = Opt::seed,
     .name = "seed",
     .type = OptionType::count,
     .placeholder = "N",
     .fallback = "random",
     .least = 0,
     .most = kMost64,
     .commands = kAnswer,
     .group = kSampling,
     .help = "Seed of the draws: the same seed gives the same text."},
    {.id = Opt::greedy,
     .name = "greedy",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = kAnswer,
     .group = kSampling,
     .help = "Always take the most probable token. Excludes a temperature above 0."},

    {.id = Opt::json,
     .name = "json",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = in(run, info, plan, doctor, convert, eval_ppl, trace_replay),
     .everywhere = false,
     .group = kOutput,
     .help = "One JSON object on standard output instead of text."},
    {.id = Opt::stats,
     .name = "stats",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "auto",
     .commands = kAnswer,
     .group = kOutput,
     .help = "A line of statistics after each answer. Auto: when standard error is a terminal."},
    {.id = Opt::spec,
     .name = "spec",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = in(info),
     .everywhere = false,
     .group = kOutput,
     .help = "Print the architecture on one page."},
    {.id = Opt::show_config,
     .name = "config",
     .type = OptionType::optional_path,
     .placeholder = "FILE",
     .fallback = "",
     .commands = in(info),
     .everywhere = false,
     .group = kOutput,
     .help = "Print every option's value and where it came from; with =FILE, read that "
             "configuration file."},

    {.id = Opt::tokens,
     .name = "tokens",
     .type = OptionType::text,
     .placeholder = "LIST",
     .fallback = "",
     .commands = in(eval_logits, eval_trace, trace_record),
     .everywhere = false,
     .group = kEvaluation,
     .help = "Token ids, separated by spaces or commas."},
    {.id = Opt::out,
     .name = "out",
     .type = OptionType::path,
     .placeholder = "PATH",
     .fallback = "",
     .commands = in(eval_logits, eval_trace, trace_record),
     .everywhere = false,
     .group = kEvaluation,
     .help = "Where results go: a file, for eval trace a directory."},
    {.id = Opt::greedy_count,
     .name = "greedy",
     .type = OptionType::count,
     .placeholder = "N",
     .fallback = "0",
     .least = 0,
     .most = 1048576,
     .commands = in(eval_trace, trace_record),
     .everywhere = false,
     .group = kEvaluation,
     .help = "Greedy tokens to generate after the prompt. Generation does not stop at the end of "
             "turn, except in trace record after a message."},
    {.id = Opt::drafts,
     .name = "drafts",
     .type = OptionType::count,
     .placeholder = "K",
     .fallback = "0",
     .least = 0,
     .most = 1024,
     .commands = in(eval_trace),
     .everywhere = false,
     .group = kEvaluation,
     .help = "Recursive steps of the MTP draft head to record."},

    {.id = Opt::drives,
     .name = "drives",
     .type = OptionType::text,
     .placeholder = "GB/S,...",
     .commands = in(plan),
     .everywhere = false,
     .group = kPlanning,
     .help =
         "Speed of each drive that holds the experts, in GB/s, instead of a measurement: 3.2 or "
         "3.2,1.5."},
    {.id = Opt::hit_rate,
     .name = "hit-rate",
     .type = OptionType::number,
     .placeholder = "PERCENT",
     .least = 0,
     .most = 100,
     .commands = in(plan),
     .everywhere = false,
     .group = kPlanning,
     .help = "Share of chosen experts that will be in memory, instead of the prior for this much "
             "memory."},
    {.id = Opt::deep,
     .name = "deep",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = in(doctor),
     .everywhere = false,
     .group = kPlanning,
     .help = "Read every byte of the model: checksums of a container, finite numbers elsewhere."},
    {.id = Opt::replay_policy,
     .name = "policy",
     .type = OptionType::text,
     .placeholder = "LIST",
     .fallback = "all",
     .commands = in(trace_replay),
     .everywhere = false,
     .group = kEvaluation,
     .help = "Policies to replay, separated by commas: frequency, frequency-global (no shares for "
             "layers), lru, belady (the bound), or all."},
    {.id = Opt::capacity,
     .name = "capacity",
     .type = OptionType::text,
     .placeholder = "LIST",
     .fallback = "12.5,25,37.5,50",
     .commands = in(trace_replay),
     .everywhere = false,
     .group = kEvaluation,
     .help = "Sizes of the cache in percent of the model's experts, separated by commas."},
    {.id = Opt::experts,
     .name = "experts",
     .type = OptionType::text,
     .placeholder = "FORMAT",
     .fallback = "auto",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Format of routed experts: int4-g64, int4-g32, int4-g128, int8, int8-row, bf16, f32, "
             "fp8, or keep. Auto: int4-g64; what is an integer format already is kept."},
    {.id = Opt::dense,
     .name = "dense",
     .type = OptionType::text,
     .placeholder = "FORMAT",
     .fallback = "auto",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Format of all other matrices. Auto: int8-g64; integer formats and the embedding are "
             "kept. Routers, indexer gates, norms and biases are always kept exactly."},
    {.id = Opt::mtp,
     .name = "mtp",
     .type = OptionType::text,
     .placeholder = "FORMAT",
     .fallback = "auto",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Format of the draft layer, which gets files of its own. Auto: int8-g64; integer "
             "formats are kept."},
    {.id = Opt::formats,
     .name = "formats",
     .type = OptionType::text,
     .placeholder = "LIST",
     .fallback = "",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Exceptions, as CLASS=FORMAT or CLASS.PROJECTION=FORMAT with commas between them: "
             "experts.down=int8,attention=keep. Later ones override earlier ones."},
    {.id = Opt::scales,
     .name = "scales",
     .type = OptionType::choice,
     .placeholder = "KIND",
     .fallback = "search",
     .choices = "search|nearest",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "How the scale of a group is chosen. Search: with the least squared error. Nearest: "
             "from the largest weight, faster and less exact."},
    {.id = Opt::dry_run,
     .name = "dry-run",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Print what would be written, with sizes, and write nothing."},
    {.id = Opt::delete_source_shards,
     .name = "delete-source-shards",
     .type = OptionType::flag,
     .placeholder = "",
     .fallback = "false",
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Delete each file of the source once everything made from it is on the drive and has "
             "been read back. For those without room for both."},
    {.id = Opt::window,
     .name = "window",
     .type = OptionType::bytes,
     .placeholder = "SIZE",
     .fallback = "256M",
     .least = 1048576,
     .most = 1099511627776,
     .commands = in(convert),
     .everywhere = false,
     .group = kConversion,
     .help = "Weights in memory at a time, source and result together."},

    {.id = Opt::config,
     .name = "config",
     .type = OptionType::path,
     .placeholder = "FILE",
     .fallback = "",
     .commands = kAnswer | in(convert, trace_record) | kEval,
     .group = kConfiguration,
     .help = "Configuration file: lines of `key = value` with the names of options, or a JSON "
             "object."},
};

constexpr CommandSpec kCommands[] = {
    {.id = run,
     .words = "run",
     .arguments = "[PROMPT...]",
     .takes_arguments = true,
     .summary = "answer one prompt",
     .details =
         "The prompt is --prompt, or the words after the options, or standard input. Standard "
         "output carries the answer and nothing else; reasoning, progress, remarks and statistics "
         "go to standard error. Ctrl-C ends the answer."},
    {.id = chat,
     .words = "chat",
     .arguments = "",
     .takes_arguments = false,
     .summary = "talk with the model",
     .details =
         "One line is one message; a line that ends with a backslash goes on. /help lists the "
         "commands. Ctrl-C stops the answer; at the prompt it leaves, as the end of input does. "
         "Input may also be a pipe."},
    {.id = info,
     .words = "info",
     .arguments = "",
     .takes_arguments = false,
     .summary = "what a model needs and what this machine has",
     .details = "Reads headers only: no weights are loaded."},
    {.id = plan,
     .words = "plan",
     .arguments = "[MODEL]",
     .takes_arguments = true,
     .summary = "memory, hit rate and speed to expect",
     .details =
         "The engine's own memory plan by part, the largest context, and what a token costs once "
         "the cache is full: expected hit rate, bytes read and multiplied, seconds. Drive and "
         "memory are measured for a moment. No weights are loaded."},
    {.id = doctor,
     .words = "doctor",
     .arguments = "",
     .takes_arguments = false,
     .summary = "is machine, model and state in order?",
     .details = "Every finding has a severity, a reason and a remedy. Ends with 1 when there is an "
                "error. Changes nothing."},
    {.id = convert,
     .words = "convert",
     .arguments = "SOURCE DESTINATION",
     .takes_arguments = true,
     .summary = "checkpoint to container: smaller, and one read an expert",
     .details =
         "Reads the checkpoint in SOURCE and writes a colibri container into DESTINATION, a new or "
         "empty directory. May be stopped, killed or run out of room at any point: the same "
         "command goes on where it was and ends with the same bytes. The destination is a model "
         "only when colibri.json is there, which comes last."},
    {.id = eval_logits,
     .words = "eval logits",
     .arguments = "",
     .takes_arguments = false,
     .summary = "logits of given tokens, as a NumPy file",
     .details =
         "Writes float32 [tokens, vocabulary]: row t holds the scores after token t. Needs no "
         "tokenizer. Padded ids are not masked."},
    {.id = eval_trace,
     .words = "eval trace",
     .arguments = "",
     .takes_arguments = false,
     .summary = "everything a pass computes, for comparison with a reference",
     .details =
         "Writes into the directory --out: logits.npy [T,V]; hidden.L.npy [T,D], the input of "
         "layer L, the last one after the final norm; router.L.ids.npy and router.L.weights.npy "
         "[T,K], "
         "ids ascending; index.L.npy [T,min(index_topk,T)], selected positions ascending, -1 = "
         "none; greedy.json with the prompt, the greedy tokens, the token after the prompt (bonus) "
         "and the drafts. With an MTP layer also mtp.forced.npy [T-1,V], and with --drafts "
         "mtp.draft.npy [K,V]."},
    {.id = eval_ppl,
     .words = "eval ppl",
     .arguments = "FILE",
     .takes_arguments = true,
     .summary = "perplexity of a text",
     .details =
         "Reads FILE as plain text (- is standard input) and prints how well the model predicts "
         "it. The text passes in windows of --ctx positions that overlap by half; every token but "
         "the "
         "first is scored once."},
    {.id = trace_record,
     .words = "trace record",
     .arguments = "[MESSAGE...]",
     .takes_arguments = true,
     .summary = "write down which experts a run uses",
     .details =
         "Writes a route trace to --out: for every position, layer and chosen expert its weight, "
         "whether it was in memory and what was read for it. Each MESSAGE is one message of a "
         "conversation, answered greedily with at most --greedy tokens; --tokens gives token ids "
         "instead, followed by --greedy tokens."},
    {.id = trace_replay,
     .words = "trace replay",
     .arguments = "FILE...",
     .takes_arguments = true,
     .summary = "hit rates of cache policies on recorded routes",
     .details =
         "Runs the decode steps of each route trace through an empty cache, for every policy and "
         "capacity, and prints the hit rate, its ratio to the best possible one (Belady's), and "
         "the bytes to read per token. Needs no model."},
    {.id = help,
     .words = "help",
     .arguments = "[COMMAND]",
     .takes_arguments = true,
     .summary = "this page or a command's; --markdown: all options",
     .details = ""},
    {.id = version,
     .words = "version",
     .arguments = "",
     .takes_arguments = false,
     .summary = "print the version",
     .details = ""},
};

static_assert(std::size(kOptions) == kOptionCount);
static_assert(std::size(kCommands) == kCommandCount);

}  // namespace

std::span<const OptionSpec> option_table() {
    return kOptions;
}
std::span<const CommandSpec> command_table() {
    return kCommands;
}

const OptionSpec& spec_of(Opt option) {
    const OptionSpec& spec = kOptions[size_t(option)];
    CHECK(spec.id == option);
    return spec;
}

const CommandSpec& spec_of(Command command) {
    const CommandSpec& spec = kCommands[size_t(command)];
    CHECK(spec.id == command);
    return spec;
}

}  // namespace colibri
