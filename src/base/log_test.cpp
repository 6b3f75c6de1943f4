#include "hocket/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cstdlib>
#include <memory>
#include <sstream>

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

// What the logger writes, while this lives.
class CapturedLog {
 public:
  CapturedLog() : sinks_(log().sinks()) { log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_st>(text_)}; }
  ~CapturedLog() { log().sinks() = sinks_; }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::vector<spdlog::sink_ptr> sinks_;
};

TEST(Log, writes_warnings_and_no_debug_messages_by_default) {
  if (std::getenv("HOCKET_LOG") != nullptr) GTEST_SKIP() << "HOCKET_LOG is set";
  const CapturedLog captured;
  log().warn("a warning about {}", 7);
  log().debug("a detail");
  EXPECT_THAT(captured.text(), HasSubstr("a warning about 7"));
  EXPECT_THAT(captured.text(), Not(HasSubstr("a detail")));
}

TEST(Log, is_one_logger) {
  EXPECT_EQ(&log(), &log());
  EXPECT_EQ(log().name(), "hocket");
}

// The level is read at the first message of a process, so each level needs a process of its own.
TEST(LogDeathTest, obeys_the_level_in_the_environment) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto say = [](const char* level) {
    setenv("HOCKET_LOG", level, 1);
    log().debug("a detail");
    log().error("an error");
    std::exit(0);
  };
  EXPECT_EXIT(say("debug"), testing::ExitedWithCode(0), "hocket debug: a detail\nhocket error: an error");
  EXPECT_EXIT(say("error"), testing::ExitedWithCode(0), "^hocket error: an error\n$");
  EXPECT_EXIT(say("off"), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(say("loud"), testing::ExitedWithCode(0),
              "HOCKET_LOG=loud is no level; expected trace, debug, info, warning, error or off");
}

}  // namespace
}  // namespace hocket
