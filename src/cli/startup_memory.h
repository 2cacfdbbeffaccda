// GiveBackStartupMemory: lets go of the memory that only the start needed.
#pragma once

namespace homeostat::cli {

// Freed memory goes back to the system at once, and so do the pages of the program and its libraries that were read at the
// start: code that runs once, tables that the dynamic linker went through. What is needed again comes back from the page cache
// when it is touched. Costs well under a millisecond; may be called at any time.
void GiveBackStartupMemory();

}  // namespace homeostat::cli
