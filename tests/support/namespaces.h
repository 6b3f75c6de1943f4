// Two hosts on this machine: network and host-name namespaces with a cable of limited rate between them. They have the process's
// number in their names, and are gone when this object or the process is, however it ends.
//
//   if (const std::string why = TwoHosts::impossible("mpirun.openmpi"); !why.empty()) GTEST_SKIP() << why;
//   TwoHosts hosts("1gbit");
//   RunOutcome outcome = hosts.run(hosts.open_mpi(2, {program}), std::chrono::seconds(60));
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace hocket {

struct RunOutcome {
  int exit_code = -1;  // -1: it was killed at the timeout
  std::string output;  // stdout and stderr
};

class TwoHosts {
 public:
  static constexpr const char* first_address = "10.231.0.1";  // inside the namespaces only

  // Why there can be no two hosts that this program starts ranks on; empty if there can.
  static std::string impossible(const std::string& launcher);

  // `rate` as tc takes it. `library_folder` is added to LD_LIBRARY_PATH on both hosts.
  explicit TwoHosts(const std::string& rate, std::string library_folder = "");
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  // What went wrong when they were made; empty if nothing did.
  const std::string& failure() const { return failure_; }
  const std::string& name(int host) const { return names_[host]; }

  // What becomes of the others when a rank dies: launchers end them at once, or may do so after three seconds.
  enum class Survivors { are_ended, go_on };
  // Command lines that start the program with so many ranks on each host.
  std::vector<std::string> open_mpi(int ranks_each, const std::vector<std::string>& program,
                                    Survivors survivors = Survivors::are_ended) const;
  std::vector<std::string> mpich(int ranks_each, const std::vector<std::string>& program,
                                 Survivors survivors = Survivors::are_ended) const;
  // The command on that host, without the library folder.
  std::vector<std::string> on(int host, const std::vector<std::string>& command) const;
  // With the variables that torchrun sets, and nobody who would end the others.
  std::vector<std::string> by_hand(int ranks_each, const std::vector<std::string>& program,
                                   Survivors survivors = Survivors::go_on) const;
  // By torchrun itself, of this Python.
  std::vector<std::string> torchrun(const std::string& python, int ranks_each,
                                    const std::vector<std::string>& program) const;
  // Runs it on the first host; kills it and all that it started there at the timeout.
  RunOutcome run(const std::vector<std::string>& command, std::chrono::seconds timeout) const;

 private:
  void make(const std::string& rate);
  void write_agent() const;
  void write_starter() const;

  std::string names_[2];
  std::string folder_;  // of the scripts
  std::string library_folder_;
  std::string failure_;
  int guardian_ = -1;  // the pipe that tells the guardian, by its end, to clean up
  int guardian_process_ = -1;
};

}  // namespace hocket
