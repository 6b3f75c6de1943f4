#include "comm/find_program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hocket {

namespace {

constexpr const char* usual_search = "/usr/local/bin:/usr/bin:/bin";  // where PATH is not set

// 0 or why the file can't be run.
int problem_with(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return errno;
  if (S_ISDIR(about.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

bool is_absent(int reason) { return reason == ENOENT || reason == ENOTDIR; }

tl::unexpected<NotFound> refuse(const std::string& path, int reason) {
  const char* hint = reason == EACCES ? "; make it executable with chmod +x" : "";
  return tl::unexpected(NotFound{is_absent(reason) ? 127 : 126,
                                 fmt::format("{}: can't be run: {}{}", path, std::strerror(reason), hint)});
}

}  // namespace

tl::expected<std::string, NotFound> find_program(const std::string& name, const std::string& search) {
  if (name.find('/') != std::string::npos) {
    const int reason = problem_with(name);
    if (reason != 0) return refuse(name, reason);
    return name;
  }
  const std::string folders = search.empty() ? usual_search : search;
  std::string found_but;  // a file of that name that can't be run, should there be none that can
  for (std::size_t begin = 0; begin <= folders.size() && !name.empty();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = end == begin ? "." : folders.substr(begin, end - begin);
    const std::string path = folder + "/" + name;
    const int reason = problem_with(path);
    if (reason == 0) return path;
    if (reason == EACCES && found_but.empty()) found_but = path;
    begin = end + 1;
  }
  if (!found_but.empty()) return refuse(found_but, EACCES);
  const char* hint = access(name.c_str(), F_OK) == 0 && !name.empty() ? "; for the file in this folder write ./" : "";
  return tl::unexpected(NotFound{127, fmt::format("there is no program \"{}\" in the folders of PATH{}{}", name, hint,
                                                  *hint == '\0' ? "" : name)});
}

}  // namespace hocket
