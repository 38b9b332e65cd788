#include "apps/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace colibri {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Invocation> parse(std::vector<std::string> arguments, const Environment& environment = {}) {
    return parse_command_line(arguments, environment);
}

// The refusal's message, or "accepted".
std::string refusal(std::vector<std::string> arguments, const Environment& environment = {}) {
    const auto result = parse(std::move(arguments), environment);
    if (result) return "accepted";
    EXPECT_EQ(result.error().kind, ErrorKind::invalid_input);
    return result.error().message;
}

// A file that lives as long as the test.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& text)
        : path_(testing::TempDir() + "colibri_options_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
        std::ofstream(path_) << text;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Goal: the table is consistent, since everything else is generated from it.
// Method: ids in order, names unique per command and as environment variables, defaults and limits
// possible.
TEST(OptionTable, IsConsistent) {
    std::set<std::pair<std::string_view, Command>> taken;
    std::set<std::string> variables;
    for (size_t row = 0; row < option_table().size(); ++row) {
        const OptionSpec& option = option_table()[row];
        EXPECT_EQ(size_t(option.id), row) << option.name;
        EXPECT_NE(option.commands, 0U) << option.name;
        EXPECT_FALSE(option.help.empty() || option.group.empty()) << option.name;
        EXPECT_LE(option.least, option.most) << option.name;
        EXPECT_EQ(option.type == OptionType::choice, !option.choices.empty()) << option.name;
        for (const CommandSpec& command : command_table()) {
            if (!option.applies_to(command.id)) continue;
            EXPECT_TRUE(taken.emplace(option.name, command.id).second)
                << option.name << " twice in " << command.words;
        }
        if (!option.everywhere) continue;
        EXPECT_TRUE(variables.insert(environment_name(option)).second) << option.name;
    }
    for (size_t row = 0; row < command_table().size(); ++row)
        EXPECT_EQ(size_t(command_table()[row].id), row);
}

// Goal: both spellings of values and switches, and words after them.
// Method: one line with every kind.
TEST(CommandLine, ReadsOptionsAndArguments) {
    const auto result =
        parse({"run", "--temp", "0.5", "--top-k=40", "--ram=1.5G", "--think", "--no-stats", "--isa",
               "avx2", "--seed", "18446744073709551615", "what", "is", "--", "--this"});
    ASSERT_TRUE(result) << result.error().message;
    const Settings& settings = result->settings;
    EXPECT_EQ(result->command, Command::run);
    EXPECT_EQ(settings.number(Opt::temp), 0.5);
    EXPECT_EQ(settings.count(Opt::top_k), 40U);
    EXPECT_EQ(settings.count(Opt::ram), 1536ULL << 20);
    EXPECT_EQ(settings.flag(Opt::think), true);
    EXPECT_EQ(settings.flag(Opt::stats), false);
    EXPECT_EQ(settings.text(Opt::isa), "avx2");
    EXPECT_EQ(settings.count(Opt::seed), UINT64_MAX);
    EXPECT_THAT(result->arguments, ElementsAre("what", "is", "--this"));
}

// Goal: what is not given has its default and says so.
// Method: an empty line of options.
TEST(CommandLine, HasDefaults) {
    const auto result = parse({"run"});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->settings.text(Opt::activations), "auto");
    EXPECT_EQ(result->settings.flag(Opt::think), false);
    EXPECT_EQ(result->settings.flag(Opt::stats), std::nullopt);
    EXPECT_EQ(result->settings.count(Opt::ram), std::nullopt);
    EXPECT_EQ(result->settings.number(Opt::temp), std::nullopt);
    EXPECT_EQ(result->settings.at(Opt::ram).origin, "default");
    EXPECT_FALSE(result->settings.given(Opt::ram));
    const auto trace = parse({"eval", "trace"});
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->settings.count(Opt::greedy_count), 0U);
}

// Goal: options may stand before the command, in pairs too, without being taken for it.
// Method: a value that spells a command; `eval` with options in between; one name with two
// meanings.
TEST(CommandLine, FindsTheCommandAnywhere) {
    EXPECT_EQ(parse({"--model", "chat", "run", "hi"})->command, Command::run);
    EXPECT_EQ(parse({"--threads=2", "eval", "--ram", "1G", "logits"})->command,
              Command::eval_logits);
    const auto trace = parse({"eval", "trace", "--greedy", "12"});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->settings.count(Opt::greedy_count), 12U);
    const auto run = parse({"run", "--greedy", "12"});
    EXPECT_THAT(run->arguments, ElementsAre("12"));
    EXPECT_TRUE(run->settings.on(Opt::greedy));
    EXPECT_EQ(parse({})->command, std::nullopt);
}

// Goal: help and version work however broken the rest is; a value that looks like help is told from
// it. Method: beside unknown words and under a hostile environment; as a value, with and without
// '='.
TEST(CommandLine, GivesHelpFirst) {
    EXPECT_TRUE(parse({"run", "--frobnicate", "--help"}, {{"COLI_TEMP", "x"}}).value().help);
    EXPECT_TRUE(parse({"-h"}).value().help);
    EXPECT_TRUE(parse({"--version"}).value().version);
    EXPECT_EQ(parse({"eval", "--help"}).value().group_alone, "eval");
    EXPECT_EQ(parse({"trace", "--help"}).value().group_alone, "trace");
    EXPECT_EQ(parse({"trace", "replay", "f"}).value().command, Command::trace_replay);
    EXPECT_THAT(refusal({"run", "--prompt", "--help"}), testing::HasSubstr("--prompt=--help"));
    EXPECT_FALSE(parse({"run", "--prompt=--help"}).value().help);
    EXPECT_FALSE(parse({"run", "--", "--help"}).value().help);
}

// Goal: what is unknown is refused with the nearest known name.
// Method: misspelled options, commands, variables; names that resemble nothing get no guess.
TEST(CommandLine, HintsAtTheNearestName) {
    EXPECT_THAT(refusal({"run", "--max-token", "3"}), HasSubstr("did you mean --max-tokens?"));
    EXPECT_THAT(refusal({"run", "--tempp=1"}), HasSubstr("did you mean --temp?"));
    EXPECT_THAT(refusal({"run", "--rma", "1G"}), HasSubstr("did you mean --ram?"));
    EXPECT_THAT(refusal({"chatt"}), HasSubstr("did you mean chat?"));
    EXPECT_THAT(refusal({"eval", "logit"}), HasSubstr("did you mean logits?"));
    EXPECT_THAT(refusal({"eval"}), HasSubstr("logits, trace, ppl"));
    EXPECT_THAT(refusal({"run"}, {{"COLI_TOPP", "1"}}),
                AllOf(HasSubstr("COLI_TOPP"), HasSubstr("did you mean COLI_TOP_P?")));
    const std::string strange = refusal({"run", "--zzzzzzzz"});
    EXPECT_THAT(strange, HasSubstr("--zzzzzzzz"));
    EXPECT_EQ(strange.find("did you mean"), std::string::npos);
    EXPECT_THAT(refusal({"run", "-t", "4"}), HasSubstr("two dashes"));
}

// Goal: an option that a command does not have is refused, never ignored.
// Method: every option against every command of the table.
TEST(CommandLine, RefusesOptionsOfOtherCommands) {
    int refused = 0, accepted = 0;
    for (const CommandSpec& command : command_table()) {
        if (command.id == Command::help || command.id == Command::version) continue;
        for (const OptionSpec& option : option_table()) {
            std::vector<std::string> line;
            const size_t space = command.words.find(' ');
            line.emplace_back(command.words.substr(0, space));
            if (space != std::string_view::npos) line.emplace_back(command.words.substr(space + 1));
            bool has_name = false;
            for (const OptionSpec& other : option_table())
                has_name |= other.name == option.name && other.applies_to(command.id);
            line.push_back("--" + std::string(option.name));
            const std::string message = refusal(line);
            const bool unknown = message.find("does not apply") != std::string::npos;
            EXPECT_EQ(unknown, !has_name) << command.words << " --" << option.name << message;
            ++(unknown ? refused : accepted);
        }
    }
    EXPECT_GT(refused, 40);
    EXPECT_GT(accepted, 40);
    EXPECT_THAT(refusal({"info", "--temp", "1"}),
                AllOf(HasSubstr("--temp"), HasSubstr("coli info"), HasSubstr("run, chat")));
    EXPECT_THAT(refusal({"info", "word"}), HasSubstr("'word'"));
}

// Goal: values outside type or limits are refused with option, value and limits.
// Method: -1, 0, 2^31-1, 1e20, NaN, empty, and half numbers, on the command line and in the
// environment.
TEST(CommandLine, ChecksValues) {
    const auto expect = [](const std::string& option, const std::string& value,
                           const std::string& limit) {
        EXPECT_THAT(refusal({"run", option + "=" + value}),
                    AllOf(HasSubstr(option), HasSubstr("'" + value + "'"), HasSubstr(limit)));
    };
    for (const char* bad : {"-1", "0", "1e20", "NaN", "", "4294967296", "12x", " 5", "+5", "0x10"})
        expect("--max-tokens", bad, "from 1 to 4294967295, or auto");
    for (const char* bad : {"-1", "0", "2147483647", "1e20", "nan", ""})
        expect("--ctx", bad, "from 1 to 16777216");
    for (const char* bad : {"-0.1", "1e20", "nan", "inf", "", "1,5", "/var/tmp"})
        expect("--temp", bad, "from 0 to 100, or model");
    for (const char* bad : {"-1", "1.5", "NaN"}) expect("--top-p", bad, "from 0 to 1");
    for (const char* bad : {"-1", "0", "1e20", "", "abc", "12Q", "nan"})
        expect("--ram", bad, "from 1 MiB to");
    expect("--seed", "18446744073709551616", "2^64-1");
    expect("--isa", "avx1024", "auto|reference|avx2|avx512|neon");
    expect("--think", "maybe", "true or false");
    expect("--model", "", "not empty");
    EXPECT_EQ(refusal({"run", "--max-tokens", "2147483647"}), "accepted");
    EXPECT_THAT(refusal({"run", "--temp", "-1"}), HasSubstr("'-1'"));
}

// Goal: a value that was forgotten is missed, not filled with the next option.
// Method: at the end of the line and before another option.
TEST(CommandLine, MissesForgottenValues) {
    EXPECT_THAT(refusal({"run", "--prompt"}), HasSubstr("--prompt needs a value"));
    EXPECT_THAT(refusal({"run", "--prompt", "--json"}), HasSubstr("--prompt=--json"));
    EXPECT_THAT(refusal({"run", "--no-prompt"}), HasSubstr("--no-prompt"));
    EXPECT_THAT(refusal({"run", "--no-think=true"}), HasSubstr("takes no value"));
}

// Goal: the word of a default ("auto") may be written and takes back what a weaker source set.
// Method: environment against command line.
TEST(CommandLine, AcceptsTheDefaultsWord) {
    const auto result = parse({"run", "--ctx", "auto", "--temp=model"},
                              {{"COLI_CTX", "100"}, {"COLI_TEMP", "0.1"}});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->settings.count(Opt::ctx), std::nullopt);
    EXPECT_EQ(result->settings.number(Opt::temp), std::nullopt);
}

// Goal: command line, then environment, then file, then default.
// Method: one option at each level, in a file of lines and in a JSON file.
TEST(Precedence, IsCommandLineEnvironmentFileDefault) {
    for (const char* text :
         {"# settings\n\nram = 1G\nctx=2000\nthreads = 3\nsystem = \" be brief \"\n",
          R"({"ram": "1G", "ctx": 2000, "threads": 3, "system": " be brief "})"}) {
        const TemporaryFile file(text);
        const auto result = parse({"run", "--ram", "3G", "--config", file.path()},
                                  {{"COLI_RAM", "2G"}, {"COLI_CTX", "1000"}, {"OTHER", "x"}});
        ASSERT_TRUE(result) << result.error().message;
        const Settings& settings = result->settings;
        EXPECT_EQ(settings.count(Opt::ram), 3ULL << 30);
        EXPECT_EQ(settings.at(Opt::ram).origin, "--ram");
        EXPECT_EQ(settings.count(Opt::ctx), 1000U);
        EXPECT_EQ(settings.at(Opt::ctx).origin, "COLI_CTX");
        EXPECT_EQ(settings.count(Opt::threads), 3U);
        EXPECT_THAT(settings.at(Opt::threads).origin, HasSubstr(file.path()));
        EXPECT_EQ(settings.at(Opt::threads).source, Source::file);
        EXPECT_EQ(settings.text(Opt::system), " be brief ");
        EXPECT_EQ(settings.at(Opt::top_k).source, Source::fallback);
        EXPECT_EQ(parse({"run"}, {{"COLI_CONFIG", file.path()}})->settings.count(Opt::threads), 3U);
    }
}

// Goal: what was tuned is weaker than everything that anybody has said, also when that is "auto",
// and stronger than a default; it is checked like any value. Method: one option from each source,
// then the same value tuned for all of them.
TEST(Precedence, TunedValuesAreJustAboveDefaults) {
    const TemporaryFile file("chunk = 2M\n");
    auto result =
        parse({"run", "--reader", "auto", "--config", file.path()}, {{"COLI_IN_FLIGHT", "4M"}});
    ASSERT_TRUE(result) << result.error().message;
    Settings& settings = result->settings;
    const std::vector<std::pair<Opt, std::string>> tuned{{Opt::reader, "pread"},
                                                         {Opt::in_flight, "48M"},
                                                         {Opt::chunk, "4M"},
                                                         {Opt::threads, "7"},
                                                         {Opt::prefetch, "off"}};
    for (const auto& [option, value] : tuned)
        ASSERT_TRUE(apply_source(settings, spec_of(option), value, Source::tuned, "tune.json"));
    EXPECT_EQ(settings.text(Opt::reader), "auto");
    EXPECT_EQ(settings.count(Opt::in_flight), 4U << 20);
    EXPECT_EQ(settings.count(Opt::chunk), 2U << 20);
    EXPECT_EQ(settings.count(Opt::threads), 7U);
    EXPECT_EQ(settings.at(Opt::threads).origin, "tune.json");
    EXPECT_EQ(settings.text(Opt::prefetch), "off");
    const auto refused =
        apply_source(settings, spec_of(Opt::threads), "none", Source::tuned, "tune.json");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("tune.json: 'none'"));
}

// Goal: settings shared by all commands may hold options that this one does not have; they are
// checked all the same. Method: a temperature in the environment of `info`, right and wrong.
TEST(Precedence, SharedSettingsMayBeOfOtherCommands) {
    EXPECT_EQ(refusal({"info"}, {{"COLI_TEMP", "0.5"}}), "accepted");
    EXPECT_THAT(refusal({"info"}, {{"COLI_TEMP", "warm"}}), HasSubstr("COLI_TEMP"));
    EXPECT_THAT(refusal({"run", "--temp", "1"}, {{"COLI_TEMP", "warm"}}), HasSubstr("COLI_TEMP"));
}

// Goal: variables that belong to others are left alone; our own are never half-parsed.
// Method: TEMP=/var/tmp, CTX=abc, RAM= change nothing; COLI_RAM= and the like are refused by name.
TEST(Environment, SurvivesHostileNames) {
    const auto result = parse({"run"}, {{"TEMP", "/var/tmp"},
                                        {"CTX", "abc"},
                                        {"RAM", ""},
                                        {"TOP_K", "-1"},
                                        {"COLI", "x"},
                                        {"PATH", ""}});
    ASSERT_TRUE(result) << result.error().message;
    for (const OptionSpec& option : option_table())
        EXPECT_FALSE(result->settings.given(option.id)) << option.name;
    EXPECT_THAT(refusal({"run"}, {{"COLI_RAM", ""}}), HasSubstr("COLI_RAM: ''"));
    EXPECT_THAT(refusal({"run"}, {{"COLI_CTX", "abc"}}), HasSubstr("COLI_CTX: 'abc'"));
    EXPECT_THAT(refusal({"run"}, {{"COLI_PROMPT", "hi"}}), HasSubstr("COLI_PROMPT is unknown"));
    EXPECT_TRUE(parse({"run"}, {{"COLI_GREEDY", "1"}})->settings.on(Opt::greedy));
}

// Goal: a configuration file's mistakes are found, with the place.
// Method: unknown and repeated keys, bad lines and values, nested JSON, a missing file.
TEST(ConfigFile, NamesFileAndLine) {
    const auto message = [](const char* text) {
        const TemporaryFile file(text);
        return refusal({"run", "--config", file.path()});
    };
    EXPECT_THAT(message("ram = 1G\ntemperature = 1\n"),
                AllOf(HasSubstr(":2"), HasSubstr("temperature")));
    EXPECT_THAT(message("max_tokens = 1\n"), HasSubstr("did you mean max-tokens?"));
    EXPECT_THAT(message("ram = 1G\n\nram = 2G\n"), AllOf(HasSubstr(":3"), HasSubstr(":1")));
    EXPECT_THAT(message("just words\n"), AllOf(HasSubstr(":1"), HasSubstr("key = value")));
    EXPECT_THAT(message("ctx = many\n"), AllOf(HasSubstr(":1 (ctx)"), HasSubstr("'many'")));
    EXPECT_THAT(message("prompt = x\n"), HasSubstr("unknown key 'prompt'"));
    EXPECT_THAT(message("config = x\n"), HasSubstr("unknown key 'config'"));
    EXPECT_THAT(message("{\"ram\": {\"x\": 1}}"), HasSubstr("'ram'"));
    EXPECT_THAT(message("{\"ram\": null}"), HasSubstr("'ram'"));
    EXPECT_THAT(message("{\"ram\": \"1G\", \"ram\": \"2G\"}"), HasSubstr("second time"));
    EXPECT_THAT(message("{\"ram\": "), HasSubstr("not JSON"));
    EXPECT_THAT(message("{\"ctx\": 1e20}"), HasSubstr("'1e20'"));
    EXPECT_EQ(message(""), "accepted");
    const auto missing = parse({"run", "--config", "no/such/file"});
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("no/such/file"));
}

// Goal: contradictions are refused by name when they come from one source; otherwise the stronger
// source wins. Method: greedy against a temperature, raw against a system prompt.
TEST(Contradictions, AreRefusedByName) {
    EXPECT_THAT(refusal({"run", "--greedy", "--temp", "0.7"}),
                AllOf(HasSubstr("--greedy"), HasSubstr("--temp")));
    EXPECT_THAT(refusal({"run", "--raw", "--system", "x"}),
                AllOf(HasSubstr("--raw"), HasSubstr("--system")));
    EXPECT_THAT(refusal({"run", "--raw", "--think"}), HasSubstr("--think"));
    EXPECT_EQ(refusal({"run", "--greedy", "--temp", "0"}), "accepted");
    const auto greedy = parse({"run", "--greedy"}, {{"COLI_TEMP", "0.7"}});
    ASSERT_TRUE(greedy);
    EXPECT_EQ(greedy->settings.number(Opt::temp), std::nullopt);
    EXPECT_TRUE(greedy->settings.on(Opt::greedy));
    const auto warm = parse({"run", "--temp", "0.7"}, {{"COLI_GREEDY", "true"}});
    ASSERT_TRUE(warm);
    EXPECT_FALSE(warm->settings.on(Opt::greedy));
    EXPECT_EQ(warm->settings.number(Opt::temp), 0.7);
}

// Goal: `info --config` prints, and reads a file when one is given.
// Method: both spellings, and the variable.
TEST(ConfigOption, OfInfoTakesAnOptionalFile) {
    const TemporaryFile file("threads = 3\n");
    const auto bare = parse({"info", "--config", "--json"}, {{"COLI_CONFIG", file.path()}});
    ASSERT_TRUE(bare) << bare.error().message;
    EXPECT_TRUE(bare->settings.given(Opt::show_config));
    EXPECT_EQ(bare->settings.count(Opt::threads), 3U);
    const auto given = parse({"info", "--config=" + file.path()});
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_EQ(given->settings.count(Opt::threads), 3U);
    EXPECT_FALSE(parse({"info"})->settings.given(Opt::show_config));
}

// Goal: guesses are made only when they are near.
// Method: pairs by hand.
TEST(NearestName, GuessesOnlyNearNames) {
    const std::vector<std::string_view> names{"temp", "top-p", "top-k", "max-tokens"};
    EXPECT_EQ(nearest_name("tmp", names), "temp");
    EXPECT_EQ(nearest_name("max", names), "max-tokens");
    EXPECT_EQ(nearest_name("topp", names), "top-p");
    EXPECT_EQ(nearest_name("etmp", names), "temp");
    EXPECT_EQ(nearest_name("seed", names), "");
    EXPECT_EQ(nearest_name("", names), "");
    EXPECT_EQ(nearest_name(std::string(1000, 't'), names), "");
}

}  // namespace
}  // namespace colibri
