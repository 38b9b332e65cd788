// The table of commands: rows in the order of Command and of the help pages.

#include "apps/options.h"
#include "base/check.h"

namespace colibri {

namespace {

using enum Command;

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
    {.id = calibrate,
     .words = "calibrate",
     .arguments = "FILE",
     .takes_arguments = true,
     .summary = "measure the inputs of each matrix on a text, for convert",
     .details =
         "Reads FILE (a plain text, - for standard input, or a .jsonl of conversations, each line "
         "with a list \"messages\" or a string \"text\") through the model and writes the mean "
         "square of every input of every matrix to --out. coli convert --calibration uses it."},
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
    {.id = eval_kld,
     .words = "eval kld",
     .arguments = "FILE",
     .takes_arguments = true,
     .summary = "KL divergence of a model from a reference",
     .details =
         "Runs --model and --reference over FILE (as for calibrate) and prints the mean "
         "Kullback-Leibler divergence of their predictions, in nats a position, and how often both "
         "find the same token most probable. The vocabularies must be the same."},
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
    {.id = usage,
     .words = "usage",
     .arguments = "",
     .takes_arguments = false,
     .summary = "what a model's usage history knows",
     .details =
         "Prints where it is, how many tokens it is about, and how much of all uses the most "
         "used experts have. Loads no weights."},
    {.id = iobench,
     .words = "iobench",
     .arguments = "[FILE|MODEL]",
     .takes_arguments = true,
     .summary = "how fast the drive delivers experts",
     .details =
         "Reads a file, or the files of a model's experts, in order and at random: plainly, as "
         "other tools measure a drive (raw), and through each reader. Everything is read past the "
         "page cache, or the cache is dropped before. For a model it says how many tokens a "
         "second the drive allows at a hit rate. Writes nothing."},
    {.id = tune,
     .words = "tune",
     .arguments = "",
     .takes_arguments = false,
     .summary = "find the fastest settings for this model on this machine",
     .details =
         "Runs texts through the model and compares readers, read sizes, threads and prefetching, "
         "each candidate in turn with what was best so far. What is at least 3 % faster, and more "
         "than the measurements vary, is kept in tune.json in --state-dir, which later runs use "
         "(--no-tune: they do not). Options given here are not varied. Greedy tokens are compared "
         "all the time: no setting changes the answer. Ctrl-C leaves without writing."},
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

static_assert(std::size(kCommands) == kCommandCount);

}  // namespace

std::span<const CommandSpec> command_table() {
    return kCommands;
}

const CommandSpec& spec_of(Command command) {
    const CommandSpec& spec = kCommands[size_t(command)];
    CHECK(spec.id == command);
    return spec;
}

}  // namespace colibri
