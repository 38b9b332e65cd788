// What an Engine holds; shared by engine.cpp and session.cpp.
#pragma once

#include <memory>

#include "colibri/engine.h"
#include "decode/stop.h"
#include "engine/model_files.h"
#include "runtime/model.h"

namespace colibri {

struct Engine::Impl {
    EngineOptions options;
    ModelFiles files;
    std::unique_ptr<Model> model;
    EndTokens end_tokens;
    Notices notices;  // since open()
    std::optional<ThinkTags> think_tags;

    std::vector<std::string> lines;  // that may be said more than once

    [[nodiscard]] std::vector<std::string> take_notices();
    void serve(MemoryRequests& requests);
};

}  // namespace colibri
