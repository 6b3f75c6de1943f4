// How far apart two cores are. A host moves the cores of a virtual machine between its own: for seconds they share a cache, then they
// do not, and everything that goes from one to the other takes three to five times as long. What is measured in one state says
// nothing about what is measured in the other.
#pragma once

namespace hocket::comm_bench {

// Nanoseconds for a cache line to go to another core and back, between the first two cores of this process; 0 if it has only one. Takes less
// than a millisecond where both are free.
double core_round_trip_ns();

// Are these two of the same state? Unknown ones, 0, are like everything.
bool is_same_distance(double round_trip_ns, double other_ns);

}  // namespace hocket::comm_bench
