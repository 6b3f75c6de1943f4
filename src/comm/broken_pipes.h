// What a write to a rank that has just died does to the one that lives.
#pragma once

namespace hocket {

// gloo and Open MPI write to sockets such that a rank whose peer is gone would be killed by SIGPIPE, instead of being told. Python ignores
// that signal; a program in C++ does from now on, unless it handles it.
void ignore_broken_pipes();

}  // namespace hocket
