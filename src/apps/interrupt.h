// Ctrl-C as a request to stop what is going on now.
#pragma once

#include "base/cancel.h"

namespace colibri {

// While alive, SIGINT raises the token and counts; the third press ends the program at once. Before
// and after, SIGINT has its usual effect. One at a time. A system call that waits (reading a line)
// returns with EINTR.
class InterruptScope {
public:
    explicit InterruptScope(CancelToken& token);
    ~InterruptScope();
    InterruptScope(const InterruptScope&) = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;
    [[nodiscard]] static int presses();
};

class MemoryRequests;  // colibri/engine.h

// While alive, SIGUSR1 asks for half of the expert cache and SIGUSR2 for its planned size;
// afterwards they are ignored: one that comes late must not end a program that has just finished.
// One at a time. System calls that wait go on waiting.
class MemorySignals {
public:
    explicit MemorySignals(MemoryRequests& requests);
    ~MemorySignals();
    MemorySignals(const MemorySignals&) = delete;
    MemorySignals& operator=(const MemorySignals&) = delete;
};

// From now on a closed pipe and a file at its size limit show as a failed write.
void ignore_write_signals();

}  // namespace colibri
