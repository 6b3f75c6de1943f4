#include "hocket/ir/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "hocket/ir/json.h"
#include "hocket/ir/text.h"
#include "support/random_graph.h"
#include "support/random_program.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A folder of its own for each test.
class Files : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return folder_ / name; }
  std::string put(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  static std::string content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  static std::string error_of(const std::string& file) {
    const auto graph = read_graph(file);
    EXPECT_FALSE(graph);
    return graph ? "" : graph.error().to_string();
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(Files, graphs_survive_every_format) {
  const Graph graph = random_graph(11, {.operators = 20, .odd_names = true});
  for (const char* name : {"g.hk", "g.json", "g.json.gz", "g.hk.gz", "g"}) {
    const auto written = write_graph(graph, path(name));
    ASSERT_TRUE(written) << written.error().to_string();
    const auto read = read_graph(path(name));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(Graph::first_difference(graph, *read), "") << name;
  }
  EXPECT_THAT(content(path("g.json")), StartsWith("{\"schema\""));
  EXPECT_THAT(content(path("g.hk")), StartsWith("graph @"));
  EXPECT_THAT(content(path("g.json.gz")), StartsWith("\x1f\x8b"));
  EXPECT_THAT(content(path("g.hk.gz")), StartsWith("\x1f\x8b"));
  EXPECT_EQ(count(), 5U);  // nothing else was left behind
}

TEST_F(Files, formats_are_told_apart_by_their_content) {
  const Graph graph = random_graph(1, {.shape = GraphShape::ddp, .layers = 1});
  EXPECT_TRUE(read_graph(put("text_called.json", print(graph))));
  EXPECT_TRUE(read_graph(put("json_called.hk", "\n  " + write_graph_json(graph))));
  EXPECT_TRUE(read_graph(put("gzip_called.hk", *gzip(print(graph)))));
}

TEST_F(Files, formats_to_write_follow_from_the_name) {
  EXPECT_EQ(format_of_name("a.json"), FileFormat::json);
  EXPECT_EQ(format_of_name("a.json.gz"), FileFormat::json);
  EXPECT_EQ(format_of_name("a.hk"), FileFormat::text);
  EXPECT_EQ(format_of_name("a.gz"), FileFormat::text);
  EXPECT_EQ(format_of_name("json"), FileFormat::text);
  EXPECT_EQ(format_of_name("-"), FileFormat::text);
}

TEST_F(Files, programs_of_steps_are_told_from_graphs) {
  const Program program = random_program(3);
  const std::string file = put("p.hk", print(program));
  const auto either = read_graph_or_program(file);
  ASSERT_TRUE(either) << either.error().to_string();
  ASSERT_TRUE(std::holds_alternative<Program>(*either));
  EXPECT_TRUE(std::get<Program>(*either) == program);
  EXPECT_EQ(error_of(file), file + ": holds a program of steps, expected a graph of values");
}

TEST_F(Files, standard_input_is_called_minus) {
  const std::string file = put("g.hk", "graph @g() { return () }");
  const int kept = ::dup(STDIN_FILENO);
  const int opened = ::open(file.c_str(), O_RDONLY);
  ::dup2(opened, STDIN_FILENO);
  const auto graph = read_graph("-");
  ::dup2(kept, STDIN_FILENO);
  ::close(opened);
  ::close(kept);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->name(), "g");
}

// ---------------------------------------------------------------- bad files

TEST_F(Files, that_are_not_there_are_named) {
  EXPECT_EQ(error_of(path("nothing.json")), path("nothing.json") + ": can't be opened: No such file or directory");
  EXPECT_EQ(read_graph(path("nothing.json")).error().kind, ErrorKind::system);
}

TEST_F(Files, that_are_directories_are_refused) {
  EXPECT_EQ(error_of(folder_), folder_.string() + ": is a directory, expected a file");
  const auto written = write_graph(random_graph(1), folder_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().to_string(), folder_.string() + ": is a directory, expected the name of a file to write");
}

TEST_F(Files, that_are_empty_are_refused) {
  EXPECT_EQ(error_of(put("empty.json", "")),
            path("empty.json") + ": is empty; expected program text or JSON of schema commgraph/1");
  EXPECT_THAT(error_of(put("blank.hk", " \n\t\r\n")), HasSubstr("is empty"));
  EXPECT_THAT(error_of(put("empty.json.gz", *gzip(""))), HasSubstr("is empty"));
}

TEST_F(Files, that_may_not_be_read_are_named) {
  const std::string file = put("secret.hk", "graph @g() { return () }");
  ::chmod(file.c_str(), 0);
  if (::access(file.c_str(), R_OK) == 0) GTEST_SKIP() << "this user may read everything";
  EXPECT_EQ(error_of(file), file + ": can't be opened: Permission denied");
}

TEST_F(Files, that_fail_while_they_are_read_are_named) {
  if (::access("/proc/self/mem", R_OK) != 0) GTEST_SKIP() << "no /proc/self/mem";
  EXPECT_EQ(error_of("/proc/self/mem"), "/proc/self/mem: can't be read: Input/output error");
}

TEST_F(Files, errors_in_their_content_name_file_and_place) {
  EXPECT_THAT(error_of(put("bad.hk", "graph @g() {\n  oops\n}")),
              StartsWith(path("bad.hk") + ":2:3: expected a definition"));
  EXPECT_THAT(error_of(put("bad.json", "{\n\"schema\": }")),
              StartsWith(path("bad.json") + ": not valid JSON: parse error at line 2, column 11"));
  EXPECT_THAT(error_of(put("binary.hk", std::string("\x7f\x45\x4c\x46\x02\0\0\0", 8))),
              StartsWith(path("binary.hk") + ":1:1: expected 'graph'"));
}

// ---------------------------------------------------------------- gzip

TEST(Gzip, gives_back_what_was_compressed) {
  for (const std::size_t size : {0U, 1U, 1000U, 3'000'000U}) {
    const std::string plain(size, 'x');
    const auto packed = gzip(plain);
    ASSERT_TRUE(packed);
    EXPECT_EQ(gunzip(*packed), plain);
  }
}

TEST(Gzip, that_is_cut_off_is_refused_at_every_place) {
  const std::string packed = *gzip(print(random_graph(1, {.shape = GraphShape::fsdp})));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto plain = gunzip(std::string_view(packed).substr(0, size));
    ASSERT_FALSE(plain) << "the first " << size << " bytes";
    ASSERT_EQ(plain.error().kind, ErrorKind::input);
    ASSERT_THAT(plain.error().message, HasSubstr("gzip data"));
  }
}

TEST(Gzip, that_claims_to_be_huge_is_refused_without_taking_the_memory) {
  std::string packed = *gzip("small");
  packed.replace(packed.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(gunzip(packed).error().message, HasSubstr("28 bytes can't hold the 4294967295 that they claim"));
}

TEST(Gzip, that_holds_more_than_it_claims_is_refused) {
  std::string packed = *gzip(std::string(100'000, 'x'));
  packed.replace(packed.size() - 4, 4, std::string("\x10\0\0\0", 4));
  EXPECT_THAT(gunzip(packed).error().message,
              HasSubstr("gzip data is damaged: it holds more than the 16 bytes that it claims"));
}

TEST(Gzip, that_is_damaged_or_followed_by_something_is_refused) {
  const std::string packed = *gzip("some text that is compressed");
  EXPECT_THAT(gunzip(packed + "more").error().message, HasSubstr("gzip data"));
  std::string damaged = packed;
  damaged[packed.size() - 8] = static_cast<char>(damaged[packed.size() - 8] ^ 1);  // the checksum
  EXPECT_THAT(gunzip(damaged).error().message, HasSubstr("gzip data is damaged or cut off"));
  EXPECT_FALSE(gunzip("\x1f\x8b but then plain text, long enough"));
}

TEST_F(Files, with_damaged_gzip_are_named) {
  const std::string packed = *gzip(print(random_graph(1)));
  EXPECT_THAT(error_of(put("cut.json.gz", packed.substr(0, packed.size() / 2))),
              StartsWith(path("cut.json.gz") + ": gzip data is damaged or cut off"));
  EXPECT_THAT(error_of(put("tiny.gz", "\x1f\x8b")), StartsWith(path("tiny.gz") + ": gzip data of 2 bytes is cut off"));
}

// ---------------------------------------------------------------- all or nothing

TEST_F(Files, that_can_not_be_written_leave_nothing) {
  const auto written = write_graph(random_graph(1), path("no_such_folder/g.hk"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::system);
  EXPECT_EQ(written.error().to_string(), path("no_such_folder/g.hk") + ": can't be created: No such file or directory");
  EXPECT_EQ(count(), 0U);
}

TEST_F(Files, are_replaced_whole_or_not_at_all) {
  const std::string file = put("g.hk", "what was there before");
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;  // a disk that is full after 1000 bytes
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write_bytes(file, std::string(100'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().to_string(), file + ": can't be written: File too large");
  EXPECT_EQ(content(file), "what was there before");
  EXPECT_EQ(count(), 1U);
  ASSERT_TRUE(write_bytes(file, "new"));
  EXPECT_EQ(content(file), "new");
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, are_written_through_to_devices) {
  EXPECT_TRUE(write_bytes("/dev/null", "anything"));
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const auto written = write_bytes("/dev/full", "anything");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().to_string(), "/dev/full: can't be written: No space left on device");
}

TEST_F(Files, may_be_read_by_others_as_the_mask_allows) {
  const mode_t mask = ::umask(022);
  ASSERT_TRUE(write_bytes(path("g.hk"), "x"));
  ::umask(mask);
  struct stat info {};
  ASSERT_EQ(::stat(path("g.hk").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644U);
}

}  // namespace
}  // namespace hocket
