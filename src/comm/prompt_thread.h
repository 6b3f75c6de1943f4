// Threads that communicate on cores that others compute on.
#pragma once

namespace hocket {

// Names the calling thread and asks the scheduler to run it in short slices: it then takes a core from a computing thread as soon
// as it wakes, instead of some milliseconds later, for the little that it has to do. Linux 6.12 and later; before, only the name.
void become_prompt(const char* name);

}  // namespace hocket
