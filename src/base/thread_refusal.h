// For tests: a system that refuses every new thread.
#pragma once

#include <pthread.h>

namespace colibri {

// While it lives, no thread starts: each would need a stack that no machine has room for. Not for
// tests that run beside others in one process.
class ThreadRefusal {
public:
    ThreadRefusal() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t endless;
        pthread_attr_init(&endless);
        pthread_attr_setstacksize(&endless, size_t(1) << 52);
        pthread_setattr_default_np(&endless);
        pthread_attr_destroy(&endless);
    }
    ~ThreadRefusal() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    ThreadRefusal(const ThreadRefusal&) = delete;
    ThreadRefusal& operator=(const ThreadRefusal&) = delete;

private:
    pthread_attr_t before_{};
};

}  // namespace colibri
