// The programs of this folder, started by MPI's launchers on two hosts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "support/namespaces.h"

namespace hocket {

inline std::string program(const char* name) { return std::string(HOCKET_TEST_PROGRAMS) + "/" + name; }

// What differs between the MPI libraries.
struct Mpi {
  const char* name;
  const char* launcher;
  const char* plugin;
  const char* package;
  std::vector<std::string> (TwoHosts::*command)(int, const std::vector<std::string>&, TwoHosts::Survivors) const;
};
inline const Mpi open_mpi{"open_mpi", "mpirun.openmpi", "libhocket_mpi_openmpi.so", "libopenmpi-dev",
                          &TwoHosts::open_mpi};
inline const Mpi mpich{"mpich", "mpiexec.mpich", "libhocket_mpi_mpich.so", "libmpich-dev", &TwoHosts::mpich};
inline std::string name_of(const testing::TestParamInfo<Mpi>& one) { return one.param.name; }

class OnTwoHosts : public testing::TestWithParam<Mpi> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(HOCKET_MPI_FOLDER) + "/" + GetParam().plugin)) {
      GTEST_SKIP() << "hocket was built without " << GetParam().package;
    }
    if (const std::string why = TwoHosts::impossible(GetParam().launcher); !why.empty()) GTEST_SKIP() << why;
    hosts_.emplace("1gbit", HOCKET_MPI_FOLDER);
    ASSERT_EQ(hosts_->failure(), "");
  }
  // With two ranks on each host.
  RunOutcome run(const std::vector<std::string>& words, TwoHosts::Survivors survivors = TwoHosts::Survivors::are_ended,
                 std::chrono::seconds timeout = std::chrono::seconds(100)) const {
    return hosts_->run(((*hosts_).*GetParam().command)(2, words, survivors), timeout);
  }
  const std::string& name(int host) const { return hosts_->name(host); }

 private:
  std::optional<TwoHosts> hosts_;
};

}  // namespace hocket
