// The programs of this folder, started on two hosts by MPI's launchers, or as torchrun does.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "support/namespaces.h"

namespace hocket {

inline std::string program(const char* name) { return std::string(HOCKET_TEST_PROGRAMS) + "/" + name; }

// What differs between the ways that bytes go from host to host.
struct Way {
  const char* name;
  const char* launcher;
  std::string file;  // that is there if hocket was built with it
  const char* package;
  const char* prefix;  // of the programs that are linked with it
  std::vector<std::string> (TwoHosts::*command)(int, const std::vector<std::string>&, TwoHosts::Survivors) const;
};
inline const Way open_mpi{
    "open_mpi", "mpirun.openmpi",   std::string(HOCKET_MPI_FOLDER) + "/libhocket_mpi_openmpi.so", "libopenmpi-dev",
    "",         &TwoHosts::open_mpi};
inline const Way mpich{
    "mpich", "mpiexec.mpich", std::string(HOCKET_MPI_FOLDER) + "/libhocket_mpi_mpich.so", "libmpich-dev",
    "",      &TwoHosts::mpich};
inline const Way gloo{"gloo", "sh", program("torch_operators_program"), "libtorch", "torch_", &TwoHosts::by_hand};
inline std::string name_of(const testing::TestParamInfo<Way>& one) { return one.param.name; }

class OnTwoHosts : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().file)) GTEST_SKIP() << "hocket was built without " << GetParam().package;
    if (const std::string why = TwoHosts::impossible(GetParam().launcher); !why.empty()) GTEST_SKIP() << why;
    hosts_.emplace("1gbit", HOCKET_MPI_FOLDER);
    ASSERT_EQ(hosts_->failure(), "");
  }
  // With two ranks on each host.
  RunOutcome run(const std::vector<std::string>& words, TwoHosts::Survivors survivors = TwoHosts::Survivors::are_ended,
                 std::chrono::seconds timeout = std::chrono::seconds(100)) const {
    return hosts_->run(((*hosts_).*GetParam().command)(2, words, survivors), timeout);
  }
  // The one that is linked with what it needs.
  static std::string fitting(const std::string& name) { return program((GetParam().prefix + name).c_str()); }
  const TwoHosts& hosts() const { return *hosts_; }
  const std::string& name(int host) const { return hosts_->name(host); }

 private:
  std::optional<TwoHosts> hosts_;
};

}  // namespace hocket
