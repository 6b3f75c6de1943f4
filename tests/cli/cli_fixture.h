// Runs the command as a user would, in a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include "support/temporary_folder.h"

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class Cli : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  Outcome hocket(const std::string& arguments) const { return run("'" HOCKET_TEST_TOOL "' " + arguments); }
  // Runs the command by the shell in the test's folder.
  Outcome run(const std::string& command) const {
    Outcome outcome;
    const int status = std::system(("cd '" + folder_.string() + "' && " + command + " >.out 2>.err").c_str());
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = read(".out");
    outcome.err = read(".err");
    fs::remove(folder_ / ".out");
    fs::remove(folder_ / ".err");
    return outcome;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const hocket::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};
