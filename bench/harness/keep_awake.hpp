// Keeps a GPU at work while the CPU is: an H100 that was idle for a second has a lower clock for more than two seconds
// of new work.
#pragma once

#include "bench/harness/bench_device.hpp"

#include <atomic>
#include <thread>

namespace measure {

// While this lives, a thread works on a device of its own, on the same GPU, whenever `bench` has timed nothing for a
// moment. No work is timed meanwhile. On a CPU's driver there is no such thread.
class KeepAwake {
  public:
    explicit KeepAwake(BenchDevice* bench);
    ~KeepAwake();
    KeepAwake(const KeepAwake&) = delete;
    KeepAwake& operator=(const KeepAwake&) = delete;

  private:
    void work();

    BenchDevice* bench_;
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

} // namespace measure
