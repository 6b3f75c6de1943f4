// The life of a rank of a contestant: sleep until the driver asks for something, do it, answer, until the driver says quit or is
// gone. A rank that sleeps takes no time from the others that are being measured.
#pragma once

#include <functional>
#include <string>

#include "engine.h"
#include "protocol.h"

namespace hocket::comm_bench {

// Which cores this rank may run on.
//   each   rank r on the r-th core alone
//   two    all ranks on the first two cores
//   any    as it was started
Status bind_to_cores(const std::string& affinity, std::int32_t rank);

// Says that the rank is ready, then answers the driver's lines; an error ends the rank. `control` is the driver's socket.
using AnswerTo = std::function<Result<Answer>(const std::string& line)>;
Status serve_lines(const std::string& control, std::int32_t rank, const AnswerTo& answer_to);

// The exit code of the rank. `control` is the driver's socket.
int serve(Engine& engine, const std::string& control);

// Before a rank meets the others, and during every task: a rank that gets stuck must not outlive the driver for long.
void start_watchdog();
void stop_watchdog();

}  // namespace hocket::comm_bench
