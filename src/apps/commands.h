// The commands of `coli`, one file each. They get checked options, print, and return the exit code.
#pragma once

#include "apps/options.h"
#include "apps/terminal.h"

namespace colibri {

[[nodiscard]] int run_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int chat_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int info_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int plan_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int doctor_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int convert_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int calibrate_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int eval_kld_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int eval_logits_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int eval_trace_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int eval_ppl_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int trace_record_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int iobench_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int trace_replay_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int tune_command(const Invocation& invocation, const Console& console);
[[nodiscard]] int usage_command(const Invocation& invocation, const Console& console);

}  // namespace colibri
