#include "program/progress.hpp"

#include "program/tool.hpp"

#include <cstdio>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace tool {

Progress::Progress() {
#ifdef _WIN32
    on_terminal_ = _isatty(_fileno(stderr)) != 0;
#else
    on_terminal_ = isatty(fileno(stderr)) != 0;
#endif
}

Progress::~Progress() { show(""); }

void Progress::show(const std::string& given) {
    if (!on_terminal_ || (given.empty() && width_ == 0)) return;
    const std::string what = oneLine(given); // names of devices may hold a terminal's commands
    std::fprintf(stderr, "\r%*s\r%s", static_cast<int>(width_), "", what.c_str());
    std::fflush(stderr);
    width_ = what.size();
}

} // namespace tool
