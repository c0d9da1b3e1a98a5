// Round robin timing: in every round each contestant runs once, in another order each time, so that disturbances of the
// machine hit all contestants alike. The others are compared with the first contestant.
#pragma once

#include "bench_device.hpp"

namespace measure {

struct Contestant {
    std::string name;
    std::function<double()> seconds;
};

extern const char kEmptyDispatch[]; // the contestant whose time is subtracted from the others' on the host's clock

struct Quartiles {
    double low, median, high; // lower quartile, median, upper quartile
};
Quartiles quartilesOf(std::vector<double> values);

class RoundRobin {
  public:
    RoundRobin(std::vector<Contestant> contestants, Clock clock);

    void warmUp(); // runs each contestant once, not counted
    void runRound();
    // Runs `rounds` rounds. If `rounds` is 0, runs as many as suit the tokens within a few seconds.
    void runRounds(uint32_t rounds, uint32_t tokens);

    size_t size() const { return contestants_.size(); }
    size_t rounds() const { return times_[0].size(); }
    const std::string& name(size_t i) const { return contestants_[i].name; }
    double lastSeconds() const { return times_[0].back(); } // of the first contestant
    Quartiles seconds(size_t i) const;
    // Returns the quartiles of the rounds' quotients of the first contestant's time to this one's; NaN where the clock
    // cannot tell.
    Quartiles ratio(size_t i) const;

  private:
    double overhead() const;

    std::vector<Contestant> contestants_;
    std::vector<std::vector<double>> times_; // by contestant, then by round
    Clock clock_;
};

uint32_t roundsFor(uint32_t tokens);

} // namespace measure
