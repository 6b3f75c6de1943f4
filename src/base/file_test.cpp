#include "hocket/base/file.h"
#include "support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace hocket {
namespace {

class WholeFile : public ::testing::Test {
 protected:
  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(WholeFile, holds_what_was_written_last) {
  const std::string all_bytes("\0\xff\n\r\x1a", 5);
  ASSERT_TRUE(write_file(folder_ + "/f", "something longer than that"));
  ASSERT_TRUE(write_file(folder_ + "/f", all_bytes));
  EXPECT_EQ(read_file(folder_ + "/f").value(), all_bytes);
  ASSERT_TRUE(write_file(folder_ + "/f", ""));
  EXPECT_EQ(read_file(folder_ + "/f").value(), "");
}

TEST_F(WholeFile, stays_as_it_was_where_it_can_not_be_replaced) {
  const Status nowhere = write_file(folder_ + "/missing/f", "x");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().to_string(), folder_ + "/missing/f: can't be created: No such file or directory");
  EXPECT_EQ(write_file(folder_, "x").error().kind, ErrorKind::usage);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()), 0)
      << "nothing is left behind";
}

TEST_F(WholeFile, that_is_none_is_an_error_that_names_it) {
  EXPECT_EQ(read_file(folder_ + "/f").error().to_string(), folder_ + "/f: can't be opened: No such file or directory");
  EXPECT_EQ(read_file(folder_).error().to_string(), folder_ + ": is a directory, expected a file");
}

}  // namespace
}  // namespace hocket
