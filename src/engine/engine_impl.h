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
};

}  // namespace colibri
