// A machine: how fast its ranks compute, how fast they reach their memory, and how they are connected.
//
//   Result<Machine> machine = find_machine("h100x8");          // ready-made, or the path of a file
//   machine->memory_bandwidth = 3.0e12;
//   Status written = write_machine(*machine, "ours.json");
//
// docs/machines.md describes the files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"
#include "hocket/base/units.h"
#include "hocket/cost/collective_table.h"

namespace hocket {

// What connects ranks that lie together: blocks of `ranks` consecutive ranks reach each other at this level.
struct TopologyLevel {
  std::string name;        // "nvlink"
  std::int64_t ranks = 0;  // a multiple of the level's before it; 0: any number, only of the outermost
  Nanoseconds latency;     // of one message
  double bandwidth = 0;    // of one rank in one direction, bytes per second
  friend bool operator==(const TopologyLevel&, const TopologyLevel&) = default;
};

// Up to which size an algorithm was measured to be the fastest, for groups of so many ranks or more in one host.
// Sizes are those of the tensor that is reduced, gathered or sent, on one rank.
struct AlgorithmThreshold {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 2;
  Bytes one_shot;  // up to this size
  Bytes two_shot;  // from there up to this one; what is larger takes the pipelined algorithms
  friend bool operator==(const AlgorithmThreshold&, const AlgorithmThreshold&) = default;
};

struct Machine {
  std::string name = "plain";
  std::string description;
  std::map<Dtype, double> flops = {{Dtype::f32, 1e12}};  // FLOP per second of one rank; at least one
  double memory_bandwidth = 100e9;                       // bytes per second of one rank
  Nanoseconds launch_overhead;                           // of each kernel
  std::int64_t ranks_per_host = 8;
  std::vector<TopologyLevel> levels = {
      {"network", 0, Nanoseconds::from_picoseconds(5'000'000), 10e9}};  // inner to outer
  std::vector<AlgorithmThreshold> thresholds;                           // measured; empty: the models decide
  std::optional<CollectiveTable> collectives;                           // measured; goes before the models

  friend bool operator==(const Machine&, const Machine&) = default;
};

// What is wrong with a machine that was put together by hand: the first thing, with its place, "levels[1].bandwidth".
Status check(const Machine& machine);

// FLOP/s for a dtype. One that the machine does not list takes those of the next wider one that it lists (`taken`).
struct ComputeRate {
  double flops_per_second = 0;
  Dtype taken = Dtype::f32;
};
ComputeRate compute_rate(const Machine& machine, Dtype dtype);

// The JSON form. `file` is what errors call the text.
Result<Machine> read_machine_json(std::string_view text, const std::string& file);
std::string write_machine_json(const Machine& machine);
Result<Machine> read_machine(const std::string& path);
Status write_machine(const Machine& machine, const std::string& path);

// A ready-made machine by its name, or one from a file. An unknown name is an error that lists the known ones.
Result<Machine> find_machine(const std::string& name_or_path);
std::vector<std::string_view> known_machines();  // sorted

}  // namespace hocket
