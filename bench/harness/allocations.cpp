#include "bench/harness/allocations.hpp"

#include <atomic>
#include <cstddef>

namespace {

std::atomic<uint64_t> allocations{0};

} // namespace

namespace measure {

uint64_t allocationsSoFar() { return allocations; }

#ifdef VKROPE_WRAPS_ALLOCATION
bool countsAllocations() { return true; }
#else
bool countsAllocations() { return false; }
#endif

} // namespace measure

// The linker sends every call of `function` to __wrap_function.
#ifdef VKROPE_WRAPS_ALLOCATION
#define ROPE_WRAP(result, function, parameters, arguments)                                                             \
    extern "C" result __real_##function parameters;                                                                    \
    extern "C" result __wrap_##function parameters {                                                                   \
        ++allocations;                                                                                                 \
        return __real_##function arguments;                                                                            \
    }
ROPE_WRAP(void*, malloc, (size_t size), (size))
ROPE_WRAP(void*, calloc, (size_t count, size_t size), (count, size))
ROPE_WRAP(void*, realloc, (void* memory, size_t size), (memory, size))
ROPE_WRAP(void*, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
ROPE_WRAP(int, posix_memalign, (void** memory, size_t alignment, size_t size), (memory, alignment, size))
ROPE_WRAP(void*, _Znwm, (size_t size), (size))
ROPE_WRAP(void*, _Znam, (size_t size), (size))
#endif
