// Signals that would end the program wait while files are being replaced.
#pragma once

#ifndef _WIN32
#include <csignal>
#endif

namespace rope {

// While an object lives, a signal that would end the program is only noted, and a write beyond the limit of a file's
// size fails and ends nothing. The destructor lets a noted signal end the program. On Windows nothing is held.
class HeldSignals {
  public:
    HeldSignals();
    ~HeldSignals();
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    static bool came(); // asked between the pieces of a write, which is then given up

  private:
#ifndef _WIN32
    static constexpr int kHeld[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM,
                                    SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
    struct sigaction before_[sizeof kHeld / sizeof kHeld[0]];
#endif
};

} // namespace rope
