#include "apps/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/check.h"
#include "colibri/engine.h"

namespace colibri {

namespace {

// A signal handler can reach nothing but statics; the classes of this file are their only users.
std::atomic<CancelToken*> interrupted_token{nullptr};
std::atomic<int> press_count{0};
std::atomic<MemoryRequests*> memory_requests{nullptr};

constexpr int kPressesToKill = 3;

void on_interrupt(int) {
    if (press_count.fetch_add(1) + 1 >= kPressesToKill) ::_exit(130);
    if (CancelToken* token = interrupted_token.load()) token->cancel();
}

void on_memory_signal(int signal_number) {
    MemoryRequests* requests = memory_requests.load();
    if (requests == nullptr) return;
    if (signal_number == SIGUSR1)
        requests->halve();
    else
        requests->restore();
}

void set_handler(int signal_number, void (*handler)(int), int flags = 0) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal_number, &action, nullptr);
}

}  // namespace

InterruptScope::InterruptScope(CancelToken& token) {
    CHECK(interrupted_token.load() == nullptr);
    press_count = 0;
    interrupted_token = &token;
    set_handler(SIGINT, on_interrupt);
}

InterruptScope::~InterruptScope() {
    set_handler(SIGINT, SIG_DFL);
    interrupted_token = nullptr;
}

int InterruptScope::presses() {
    return press_count.load();
}

MemorySignals::MemorySignals(MemoryRequests& requests) {
    CHECK(memory_requests.load() == nullptr);
    memory_requests = &requests;
    for (const int number : {SIGUSR1, SIGUSR2}) set_handler(number, on_memory_signal, SA_RESTART);
}

MemorySignals::~MemorySignals() {
    for (const int number : {SIGUSR1, SIGUSR2}) set_handler(number, SIG_IGN);
    memory_requests = nullptr;
}

void ignore_write_signals() {
    set_handler(SIGPIPE, SIG_IGN);
    set_handler(SIGXFSZ, SIG_IGN);
}

}  // namespace colibri
