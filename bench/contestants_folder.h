// A folder of ours alone, with one in it for each contestant; gone with this object.
#pragma once

#include <string>

#include "hocket/base/error.h"

namespace hocket {

class ContestantsFolder {
 public:
  static Result<ContestantsFolder> make();
  ContestantsFolder(ContestantsFolder&& other) noexcept;
  ContestantsFolder& operator=(ContestantsFolder&& other) noexcept;
  ~ContestantsFolder();

  // Of the contestant that is named so; makes it.
  std::string folder_of(const std::string& name) const;

 private:
  explicit ContestantsFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty: moved away
};

}  // namespace hocket
