#include "contestants_folder.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace hocket {

Result<ContestantsFolder> ContestantsFolder::make() {
  std::string pattern = (std::filesystem::temp_directory_path() / "hocket-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return fail(ErrorKind::system, "can't make a folder {}", pattern);
  return ContestantsFolder(pattern);
}

ContestantsFolder::ContestantsFolder(ContestantsFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ContestantsFolder& ContestantsFolder::operator=(ContestantsFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ContestantsFolder::~ContestantsFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ContestantsFolder::folder_of(const std::string& name) const {
  const std::string own = path_ + "/" + name;
  std::error_code ignored;  // whoever uses it will say so
  std::filesystem::create_directory(own, ignored);
  return own;
}

}  // namespace hocket
