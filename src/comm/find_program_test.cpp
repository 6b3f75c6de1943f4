#include "comm/find_program.h"
#include "support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace hocket {
namespace {

namespace fs = std::filesystem;

class FindProgram : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "first/tool");  // a folder is no program
    fs::create_directories(folder_ / "second");
    fs::create_directories(folder_ / "third");
    std::ofstream(folder_ / "second/tool") << "#!/bin/sh\n";
    std::ofstream(folder_ / "third/tool") << "#!/bin/sh\n";
    fs::permissions(folder_ / "third/tool", fs::perms::owner_all);
  }
  std::string in(const std::string& name) const { return (folder_ / name).string(); }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(FindProgram, takes_the_first_file_in_the_search_that_can_be_run) {
  EXPECT_EQ(find_program("tool", in("first") + ":" + in("second") + ":" + in("third")), in("third/tool"));
}

TEST_F(FindProgram, names_a_file_that_cannot_be_run_where_there_is_no_other) {
  const auto found = find_program("tool", in("second") + ":" + in("first"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().exit_code, 126);
  EXPECT_EQ(found.error().message,
            in("second/tool") + ": can't be run: Permission denied; make it executable with chmod +x");
}

TEST_F(FindProgram, a_name_with_a_slash_is_not_searched) {
  EXPECT_EQ(find_program(in("third/tool"), ""), in("third/tool"));
  EXPECT_EQ(find_program(in("none/tool"), in("third")).error().exit_code, 127);
  EXPECT_EQ(find_program(in("first/tool"), in("third")).error().exit_code, 126);
}

TEST_F(FindProgram, without_a_search_the_usual_folders_are_taken) {
  EXPECT_TRUE(find_program("sh", ""));
  EXPECT_EQ(find_program("tool-that-nobody-has", "").error().exit_code, 127);
  EXPECT_EQ(find_program("", in("third")).error().exit_code, 127);
}

}  // namespace
}  // namespace hocket
