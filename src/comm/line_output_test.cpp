#include "comm/line_output.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

namespace hocket {
namespace {

class Lines : public testing::Test {
 protected:
  std::string written() {
    while (target_.has_pending()) target_.write_some();
    std::string text(static_cast<std::size_t>(lseek(file_.number(), 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file_.number(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  FileDescriptor file_{memfd_create("lines", MFD_CLOEXEC)};
  LineTarget target_{file_.number()};
};

TEST_F(Lines, every_line_gets_the_prefix) {
  target_.put(0, "[0] ", "a\n\nb\n");
  EXPECT_EQ(written(), "[0] a\n[0] \n[0] b\n");
}

TEST_F(Lines, an_unended_line_is_continued_by_its_source) {
  target_.put(0, "[0] ", "a");
  target_.put(0, "[0] ", "b\nc");
  EXPECT_EQ(written(), "[0] ab\n[0] c");
}

TEST_F(Lines, an_unended_line_is_ended_before_another_source_speaks) {
  target_.put(0, "[0] ", "a");
  target_.put(1, "[1] ", "b\n");
  target_.put(0, "[0] ", "c");
  EXPECT_EQ(written(), "[0] a\n[1] b\n[0] c");
}

TEST_F(Lines, a_target_that_fails_forgets_what_it_is_given) {
  LineTarget closed(-1);
  closed.put(0, "", "a\n");
  closed.write_some();
  EXPECT_EQ(closed.failure(), EBADF);
  closed.put(0, "", "b\n");
  EXPECT_FALSE(closed.has_pending());
}

TEST_F(Lines, a_target_is_full_until_it_has_written) {
  target_.put(0, "", std::string(std::size_t{3} << 20, 'x'));
  EXPECT_TRUE(target_.is_full());
  EXPECT_EQ(written().size(), std::size_t{3} << 20);
  EXPECT_FALSE(target_.is_full());
}

TEST_F(Lines, a_source_keeps_a_line_until_it_is_whole) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  FileDescriptor writer(ends[1]);
  LineSource source(FileDescriptor{ends[0]}, 0, "[0] ", target_);
  EXPECT_FALSE(source.read_some());
  ASSERT_EQ(write(writer.number(), "a\nb", 3), 3);
  EXPECT_TRUE(source.read_some());
  EXPECT_EQ(written(), "[0] a\n");
  ASSERT_EQ(write(writer.number(), "c", 1), 1);
  EXPECT_TRUE(source.read_some());
  EXPECT_EQ(written(), "[0] a\n");
  writer = FileDescriptor();
  EXPECT_FALSE(source.read_some());
  EXPECT_FALSE(source.is_open());
  EXPECT_EQ(written(), "[0] a\n[0] bc");
}

TEST_F(Lines, a_source_is_finished_though_somebody_holds_its_pipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor writer(ends[1]);
  LineSource source(FileDescriptor{ends[0]}, 0, "[0] ", target_);
  ASSERT_EQ(write(writer.number(), "a\nb", 3), 3);
  source.finish();
  EXPECT_FALSE(source.is_open());
  EXPECT_EQ(written(), "[0] a\n[0] b");
}

}  // namespace
}  // namespace hocket
