#include "base/heap.h"

#include <cstdlib>  // defines __GLIBC__ where it applies

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace colibri {

void return_unused_heap() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace colibri
