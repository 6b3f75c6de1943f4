// What a collective takes on a machine: by its measured table as far as that reaches, by the models beyond.
#pragma once

#include <span>

#include "hocket/base/units.h"
#include "hocket/cost/collectives.h"

namespace hocket {

// `moved`: all inputs plus all outputs, what the table is about. `payload`: what the models are about.
Nanoseconds estimate_collective(const Machine& machine, CollectiveKind kind, std::span<const Rank> ranks, Bytes moved,
                                Bytes payload);

}  // namespace hocket
