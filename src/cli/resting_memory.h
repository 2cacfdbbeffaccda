// What the process lets go of when it has nothing to do.
#pragma once

#include "homeostat/base/runtime.h"

namespace homeostat::cli {

// Freed memory goes back to the system at once, and so do the pages of the program and its libraries that work has touched:
// code that seldom runs, tables that the dynamic linker went through. What is needed again comes back from the page cache
// when it is touched. Costs well under a millisecond; may be called at any time.
void GiveBackMemory();

// Calls it every few seconds in which the process has had next to nothing to do, until the task is dropped.
Task<void> GiveBackMemoryAtRest(Runtime& runtime);

}  // namespace homeostat::cli
