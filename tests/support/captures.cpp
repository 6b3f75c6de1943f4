#include "support/captures.h"

#include <algorithm>
#include <filesystem>

namespace hocket {

namespace {

bool is_capture(const std::filesystem::path& path) {
  const std::string name = path.filename();
  return name.ends_with(".json.gz") &&
         (name.starts_with("ap_") || name.starts_with("ddp_") || name.starts_with("fsdp_") ||
          name.starts_with("moe_") || name.starts_with("tp_"));
}

std::vector<std::string> captures_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (is_capture(entry.path())) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) {
    return std::pair(std::filesystem::file_size(a), a) < std::pair(std::filesystem::file_size(b), b);
  });
  return {paths.begin(), paths.end()};
}

}  // namespace

const char* const no_shared_captures = "the folder shared/graphs beside the source tree is absent";

std::vector<std::string> shipped_captures() { return captures_in(HOCKET_TEST_DATA); }
std::vector<std::string> shared_captures() { return captures_in(HOCKET_TEST_DATA "/../../../shared/graphs"); }

}  // namespace hocket
