#include "program/files/held_signals.hpp"

#include <atomic>
#include <cstddef>

namespace rope {

#ifdef _WIN32

HeldSignals::HeldSignals() = default;
HeldSignals::~HeldSignals() = default;
bool HeldSignals::came() { return false; }

#else

namespace {

std::atomic<int> noted{0};

// A device's driver has threads, and the system gives a signal to any of them. So it is noted, and no thread blocks it.
void note(int signal) { noted = signal; }

} // namespace

HeldSignals::HeldSignals() {
    noted = 0;
    size_t i = 0;
    for (const int signal : kHeld) {
        struct sigaction& before = before_[i++];
        sigaction(signal, nullptr, &before);
        if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN) continue;
        struct sigaction held = {};
        held.sa_handler = signal == SIGXFSZ ? SIG_IGN : note;
        held.sa_flags = SA_RESTART;
        sigaction(signal, &held, nullptr);
    }
}

HeldSignals::~HeldSignals() {
    size_t i = 0;
    for (const int signal : kHeld) sigaction(signal, &before_[i++], nullptr);
    if (came()) raise(noted);
}

bool HeldSignals::came() { return noted != 0; }

#endif

} // namespace rope
