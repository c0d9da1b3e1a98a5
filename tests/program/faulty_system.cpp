// Preloaded into the program: what a system may do while files take their places. VKROPE_TEST_SYSTEM is
// "signal-at-rename N", which sends SIGTERM behind the N-th rename, "fail-rename N", "fail-links 0" or "fail-unnamed
// 0".
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>

namespace {

int asked(const char* what) {
    const char* wish = std::getenv("VKROPE_TEST_SYSTEM");
    const size_t length = std::strlen(what);
    return wish != nullptr && std::strncmp(wish, what, length) == 0 ? std::atoi(wish + length) : -1;
}

int refuseCall(int error) {
    errno = error;
    return -1;
}

template <class Function> Function next(const char* name) { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)); }

} // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the system gives its parameters reserved names
extern "C" int rename(const char* from, const char* to) noexcept {
    static int count = 0;
    ++count;
    if (count == asked("fail-rename ")) return refuseCall(EIO);
    const int result = next<int (*)(const char*, const char*)>("rename")(from, to);
    if (count == asked("signal-at-rename ")) std::raise(SIGTERM);
    return result;
}

extern "C" int link(const char* from, const char* to) noexcept {
    if (asked("fail-links ") == 0) return refuseCall(EPERM);
    return next<int (*)(const char*, const char*)>("link")(from, to);
}

extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
    if (asked("fail-links ") == 0) return refuseCall(EPERM);
    return next<int (*)(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}

extern "C" int open(const char* path, int flags, ...) {
    if ((flags & O_TMPFILE) == O_TMPFILE && asked("fail-unnamed ") == 0) return refuseCall(EOPNOTSUPP);
    std::va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
