// A folder of its own for a test, which goes with all that is in it.
//
//   const TemporaryFolder folder;
//   write_file(folder.path() + "/x", …);
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace hocket {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    if (mkdtemp(path_.data()) != nullptr) return;
    std::perror(path_.c_str());
    std::abort();  // no test could go on
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "hocket_XXXXXX").string();
};

}  // namespace hocket
