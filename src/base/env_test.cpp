#include "hocket/base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace hocket {
namespace {

// Sets or unsets a variable for the length of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr) setenv(name_, value, 1);
    else unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Env, has_defaults_where_nothing_is_set) {
  const ScopedVariable log("HOCKET_LOG", nullptr);
  const ScopedVariable color("NO_COLOR", nullptr);
  const ScopedVariable columns("COLUMNS", nullptr);
  const Env env = Env::read();
  EXPECT_EQ(env.log, "warning");
  EXPECT_TRUE(env.color);
  EXPECT_EQ(env.columns, 0);
}

TEST(Env, reads_each_variable) {
  const ScopedVariable log("HOCKET_LOG", "debug");
  const ScopedVariable color("NO_COLOR", "1");
  const ScopedVariable columns("COLUMNS", "132");
  const Env env = Env::read();
  EXPECT_EQ(env.log, "debug");
  EXPECT_FALSE(env.color);
  EXPECT_EQ(env.columns, 132);
}

TEST(Env, takes_an_empty_variable_for_an_absent_one) {
  const ScopedVariable log("HOCKET_LOG", "");
  const ScopedVariable color("NO_COLOR", "");
  EXPECT_EQ(Env::read().log, "warning");
  EXPECT_TRUE(Env::read().color);
}

TEST(Env, takes_columns_that_are_no_positive_number_for_unknown) {
  for (const char* text : {"wide", "", "0", "-5", "99999999999999999999", "80x"}) {
    const ScopedVariable columns("COLUMNS", text);
    EXPECT_GE(Env::read().columns, 0) << text;
    EXPECT_LE(Env::read().columns, 100'000) << text;
  }
}

TEST(Env, is_read_once) { EXPECT_EQ(&Env::get(), &Env::get()); }

}  // namespace
}  // namespace hocket
