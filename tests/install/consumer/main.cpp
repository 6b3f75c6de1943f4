// What a program that uses an installed hocket may look like; built by install_test.py.
#include <cstdio>
#include <cstring>

#include "hocket/base/version.h"

int main(int, char** arguments) {
  std::printf("hocket %s\n", hocket::version());
  return std::strcmp(hocket::version(), arguments[1]) == 0 ? 0 : 1;
}
