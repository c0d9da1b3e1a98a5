// Preloaded into the program: what a system may do while a file is written and takes its place. VKROPE_TEST_SYSTEM is
// "HOW CALL N NUMBER": at the N-th call of fwrite into a file, or of rename, the signal of that number comes before the
// call or behind it, or the call fails for the reason of that number.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

// Returns the number if this is what is asked for, else 0.
int asked(const char* how, const char* call, int count) {
    const char* wish = std::getenv("VKROPE_TEST_SYSTEM");
    char its_how[16], its_call[16];
    int its_count = 0, number = 0;
    if (wish == nullptr || std::sscanf(wish, "%15s %15s %d %d", its_how, its_call, &its_count, &number) != 4) return 0;
    return std::strcmp(how, its_how) == 0 && std::strcmp(call, its_call) == 0 && count == its_count ? number : 0;
}

void signalIfAsked(const char* how, const char* call, int count) {
    if (const int number = asked(how, call, count)) std::raise(number);
}

template <class Function> Function next(const char* name) { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)); }

} // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the system gives its parameters reserved names
extern "C" size_t fwrite(const void* from, size_t size, size_t elements, FILE* file) {
    static int count = 0;
    const auto real = next<size_t (*)(const void*, size_t, size_t, FILE*)>("fwrite");
    if (file == stdout || file == stderr) return real(from, size, elements, file);
    ++count;
    signalIfAsked("before", "fwrite", count);
    if (const int number = asked("fail", "fwrite", count)) {
        errno = number;
        return 0;
    }
    const size_t written = real(from, size, elements, file);
    signalIfAsked("behind", "fwrite", count);
    return written;
}

extern "C" int rename(const char* from, const char* to) noexcept {
    static int count = 0;
    ++count;
    signalIfAsked("before", "rename", count);
    if (const int number = asked("fail", "rename", count)) {
        errno = number;
        return -1;
    }
    const int result = next<int (*)(const char*, const char*)>("rename")(from, to);
    signalIfAsked("behind", "rename", count);
    return result;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
