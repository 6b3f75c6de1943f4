#include "comm/wire_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WirePlugin, is_that_of_the_launcher) {
  ASSERT_EQ(plugins_for(Launcher::open_mpi).size(), 1U);
  EXPECT_STREQ(plugins_for(Launcher::open_mpi)[0].file, "libhocket_mpi_openmpi.so");
  ASSERT_EQ(plugins_for(Launcher::mpich).size(), 1U);
  EXPECT_STREQ(plugins_for(Launcher::mpich)[0].file, "libhocket_mpi_mpich.so");
  EXPECT_EQ(plugins_for(Launcher::slurm).size(), 2U);
  EXPECT_TRUE(plugins_for(Launcher::torchrun).empty());
}

TEST(WirePlugin, is_looked_for_where_it_was_said_and_nowhere_else) {
  EXPECT_THAT(plugin_folders("/some/where"), ElementsAre("/some/where"));
  EXPECT_EQ(plugin_folders("").back(), "") << "at last where the dynamic linker looks";
}

TEST(WirePlugin, is_not_there_for_launchers_that_are_not_of_mpi) {
  const auto table = load_mpi(Launcher::torchrun, "");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind, ErrorKind::usage);
  EXPECT_THAT(table.error().message, HasSubstr("start them with mpirun or srun"));
  EXPECT_THAT(table.error().message,
              HasSubstr("or with torchrun and link the program with hocket's library for libtorch"));
}

TEST(WirePlugin, that_is_missing_is_named_with_what_brings_it) {
  const auto table = load_mpi(Launcher::mpich, "/nowhere");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind, ErrorKind::system);
  for (const char* word : {"libhocket_mpi_mpich.so", "libmpich-dev", "-DHOCKET_MPICH=ON", "/nowhere"}) {
    EXPECT_THAT(table.error().message, HasSubstr(word));
  }
}

}  // namespace
}  // namespace hocket
