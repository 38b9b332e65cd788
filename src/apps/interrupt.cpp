#include "apps/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "base/check.h"

namespace colibri {

namespace {

// A signal handler can reach nothing but statics; InterruptScope is their only user.
std::atomic<CancelToken*> interrupted_token{nullptr};
std::atomic<int> press_count{0};

constexpr int kPressesToKill = 3;

void on_interrupt(int) {
    if (press_count.fetch_add(1) + 1 >= kPressesToKill) ::_exit(130);
    if (CancelToken* token = interrupted_token.load()) token->cancel();
}

void set_handler(int signal_number, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
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

void ignore_broken_pipes() {
    set_handler(SIGPIPE, SIG_IGN);
}

}  // namespace colibri
