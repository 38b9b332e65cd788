// What the process keeps of freed memory.
#pragma once

namespace colibri {

// Gives freed heap memory back to the system, where the C library can. Worth its milliseconds once,
// after something large was loaded through much larger temporary tables: the memory planner counts
// only what stays.
void return_unused_heap();

}  // namespace colibri
