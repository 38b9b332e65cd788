#include "tests/e2e/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "base/clock.h"

namespace colibri::e2e {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

void close_end(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments,
                 const std::vector<std::pair<std::string, std::string>>& environment,
                 const std::string& output_file, const std::string& program)
    : begin_us_(now_us()) {
    ::signal(SIGPIPE, SIG_IGN);  // a program that ends early shows in its exit code
    std::array<int, 2> input{}, output{}, error{};
    CHECK(::pipe2(input.data(), O_CLOEXEC) == 0 && ::pipe2(output.data(), O_CLOEXEC) == 0 &&
          ::pipe2(error.data(), O_CLOEXEC) == 0);
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables{"PATH=/usr/bin:/bin", "HOME=/nonexistent"};
    bool has_state = false;
    for (const auto& [name, value] : environment) has_state |= name == "COLI_USAGE";
    for (const std::string& argument : arguments) has_state |= argument == "--state-dir";
    // Models of the source tree stay as they are, and what is beside them does not matter.
    if (!has_state) variables.insert(variables.end(), {"COLI_USAGE=false", "COLI_TUNE=false"});
    for (const auto& [name, value] : environment) {
        std::string variable = name;
        variable += '=';
        variable += value;
        variables.push_back(std::move(variable));
    }
    const std::vector<char*> argv = pointers(words), envp = pointers(variables);
    const int sink = output_file.empty() ? -1 : ::open(output_file.c_str(), O_WRONLY | O_CLOEXEC);
    child_ = ::fork();
    CHECK(child_ >= 0);
    if (child_ == 0) {
        ::dup2(input[0], STDIN_FILENO);
        ::dup2(sink >= 0 ? sink : output[1], STDOUT_FILENO);
        ::dup2(error[1], STDERR_FILENO);
        ::signal(SIGPIPE, SIG_DFL);
        ::execve(argv[0], argv.data(), envp.data());
        ::_exit(127);
    }
    for (int* end : {&input[0], &output[1], &error[1]}) close_end(*end);
    if (sink >= 0) ::close(sink);
    input_ = input[1];
    output_ = output[0];
    error_ = error[0];
}

Program::~Program() {
    if (child_ > 0) {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    for (int* end : {&input_, &output_, &error_}) close_end(*end);
}

void Program::write_input(std::string_view text) {
    while (!text.empty()) {
        const ssize_t wrote = ::write(input_, text.data(), text.size());
        if (wrote <= 0) return;
        text.remove_prefix(size_t(wrote));
    }
}

void Program::close_input() {
    close_end(input_);
}

void Program::close_output() {
    close_end(output_);
}

void Program::send_signal(int signal_number) const {
    ::kill(child_, signal_number);
}

bool Program::wait_until_it_catches(int signal_number, double seconds) const {
    const std::string path = "/proc/" + std::to_string(child_) + "/status";
    for (const uint64_t until = now_us() + uint64_t(seconds * 1e6); now_us() < until;) {
        std::ifstream status(path);
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("SigCgt:") &&
                (std::stoull(line.substr(7), nullptr, 16) >> (signal_number - 1) & 1U) != 0)
                return true;
        ::usleep(1000);
    }
    return false;
}

bool Program::wait_until_it_sleeps(double seconds) const {
    const std::string path = "/proc/" + std::to_string(child_) + "/stat";
    int asleep = 0;
    for (const uint64_t until = now_us() + uint64_t(seconds * 1e6); now_us() < until;) {
        const std::string stat = read_bytes(path);
        const size_t name_end = stat.rfind(')');
        if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
        asleep = stat[name_end + 2] == 'S' ? asleep + 1 : 0;
        if (asleep == 5) return true;
        ::usleep(2000);
    }
    return false;
}

bool Program::pump(double seconds) {
    std::array<pollfd, 2> polled{pollfd{.fd = output_, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = error_, .events = POLLIN, .revents = 0}};
    if (output_ < 0 && error_ < 0) return false;
    ::poll(polled.data(), polled.size(), int(seconds * 1000));
    const auto take = [](int& descriptor, short events, std::string& text) {
        if (descriptor < 0 || events == 0) return;
        std::array<char, 65536> block{};
        const ssize_t count = ::read(descriptor, block.data(), block.size());
        if (count > 0)
            text.append(block.data(), size_t(count));
        else
            close_end(descriptor);
    };
    take(output_, polled[0].revents, out_);
    take(error_, polled[1].revents, err_);
    return output_ >= 0 || error_ >= 0;
}

bool Program::wait_for(std::string& stream, std::string_view text, double seconds) {
    const uint64_t until = now_us() + uint64_t(seconds * 1e6);
    while (stream.find(text) == std::string::npos)
        if (now_us() > until || !pump(0.1)) return stream.find(text) != std::string::npos;
    return true;
}

bool Program::wait_for_out(std::string_view text, double seconds) {
    return wait_for(out_, text, seconds);
}

bool Program::wait_for_err(std::string_view text, double seconds) {
    return wait_for(err_, text, seconds);
}

Outcome Program::finish(double seconds) {
    close_input();
    const uint64_t until = now_us() + uint64_t(seconds * 1e6);
    while (pump(0.1))
        if (now_us() > until) send_signal(SIGKILL);
    int status = 0;
    // Streams can be closed before the program ends.
    rusage usage{};
    while (::wait4(child_, &status, WNOHANG, &usage) == 0) {
        if (now_us() > until) send_signal(SIGKILL);
        ::usleep(2000);
    }
    child_ = -1;
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = std::move(out_),
            .err = std::move(err_),
            .seconds = double(now_us() - begin_us_) / 1e6,
            .peak_resident_bytes = uint64_t(usage.ru_maxrss) * 1024};
}

Outcome run(const std::vector<std::string>& arguments, std::string_view input,
            const std::vector<std::pair<std::string, std::string>>& environment) {
    Program program(arguments, environment);
    program.write_input(input);
    return program.finish();
}

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments) {
    return Program(arguments, {}, "", program).finish();
}

std::string nano() {
    return COLIBRI_SOURCE_DIR "/models/nano";
}

std::string golden(const std::string& name) {
    return COLIBRI_SOURCE_DIR "/tests/golden/" + name;
}

Outcome ask_greedily(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "run",   "--model", model,      "--greedy",
        "--ram", "40M",     "--prompt", "What is the capital of France?"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
}

std::string read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool has_role_marker(std::string_view text) {
    for (const char* marker : {"<|", "|>", "<think>", "</think>", "[gMASK]", "<sop>"})
        if (text.find(marker) != std::string_view::npos) return true;
    return false;
}

}  // namespace colibri::e2e
