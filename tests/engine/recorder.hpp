// A thread that does one piece of work each time it is asked, and allocates nothing for it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace engine {

class Recorder {
  public:
    Recorder(void (*work)(void*), void* argument) : work_(work), argument_(argument), thread_([this] { run(); }) {}
    ~Recorder() {
        tell(kEnd);
        thread_.join();
    }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void begin() { tell(kWork); }
    void finish() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return state_ == kIdle; });
    }

  private:
    enum State { kIdle, kWork, kEnd };

    void tell(State state) {
        const std::lock_guard<std::mutex> lock(mutex_);
        state_ = state;
        changed_.notify_all();
    }
    void run() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return state_ != kIdle; });
            if (state_ == kEnd) return;
            lock.unlock();
            work_(argument_);
            lock.lock();
            if (state_ == kWork) state_ = kIdle;
            changed_.notify_all();
        }
    }

    void (*work_)(void*);
    void* argument_;
    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = kIdle;
    std::thread thread_;
};

} // namespace engine
