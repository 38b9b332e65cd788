// Runs the built program as a user would: arguments, environment, standard input; what it prints
// and how it ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colibri::e2e {

struct Outcome {
    int exit_code = -1;  // 128 + signal when one killed it
    std::string out, err;
    double seconds = 0;
    uint64_t peak_resident_bytes = 0;
};

// A program that runs. Its three streams are pipes.
class Program {
public:
    // `environment` comes on top of a clean one (PATH, HOME and of COLI_* only COLI_USAGE=false and
    // COLI_TUNE=false, unless --state-dir is given).
    explicit Program(const std::vector<std::string>& arguments,
                     const std::vector<std::pair<std::string, std::string>>& environment = {},
                     const std::string& output_file = "",
                     const std::string& program = COLIBRI_PROGRAM);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    void write_input(std::string_view text);
    void close_input();
    void close_output();  // as a reader that has seen enough
    // Reads until the stream holds `text`, false after `seconds`.
    [[nodiscard]] bool wait_for_out(std::string_view text, double seconds = 20);
    [[nodiscard]] bool wait_for_err(std::string_view text, double seconds = 20);
    void send_signal(int signal_number) const;
    // Until the program has a handler for the signal: before that, it would end it.
    [[nodiscard]] bool wait_until_it_catches(int signal_number, double seconds = 20) const;
    // Until its first thread waits for something, as for input, and has done so for a while. A
    // signal sent before has been taken then.
    [[nodiscard]] bool wait_until_it_sleeps(double seconds = 20) const;
    // Closes the input, reads everything, waits. Kills the program after `seconds` (exit code 137).
    [[nodiscard]] Outcome finish(double seconds = 60);

private:
    bool pump(double seconds);  // reads what comes; false when both streams have ended
    bool wait_for(std::string& stream, std::string_view text, double seconds);

    pid_t child_ = -1;
    int input_ = -1, output_ = -1, error_ = -1;
    std::string out_, err_;
    uint64_t begin_us_ = 0;
};

[[nodiscard]] Outcome run(const std::vector<std::string>& arguments, std::string_view input = "",
                          const std::vector<std::pair<std::string, std::string>>& environment = {});

// Another program file than the built one.
[[nodiscard]] Outcome run_program(const std::string& program,
                                  const std::vector<std::string>& arguments);

// models/nano and tests/golden/NAME of the source tree.
[[nodiscard]] std::string nano();
[[nodiscard]] std::string golden(const std::string& name);

// Asks `model` for the capital of France, greedily, with 40 MiB.
[[nodiscard]] Outcome ask_greedily(const std::string& model, const std::vector<std::string>& more);

// A whole file; empty when there is none.
[[nodiscard]] std::string read_bytes(const std::string& path);

// The markers that must never be seen in an answer.
[[nodiscard]] bool has_role_marker(std::string_view text);

}  // namespace colibri::e2e
