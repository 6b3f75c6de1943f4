// `./hk bench python`: hands over to bench/python/bench.py, with the package of this build directory.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

int main(int count, char** words) {
  if (!std::filesystem::exists(HOCKET_PACKAGE_FOLDER "/hocket")) {
    std::fputs("the Python package is not built: this build has no libtorch\n", stderr);
    return 1;
  }
  setenv("PYTHONPATH", HOCKET_PACKAGE_FOLDER, 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  std::string python = HOCKET_PACKAGE_PYTHON;
  std::string script = HOCKET_SOURCE_DIR "/bench/python/bench.py";
  std::vector<char*> command = {python.data(), script.data()};
  command.insert(command.end(), words + 1, words + count + 1);  // with the null at the end
  execv(command[0], command.data());
  std::perror(command[0]);
  return 1;
}
