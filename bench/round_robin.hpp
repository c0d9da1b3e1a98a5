// Timing in turns: in every round each contestant runs once, in another order each time, so that what the machine does
// meanwhile hits all alike. The first one is what the others are compared with.
#pragma once

#include "bench_device.hpp"

namespace measure {

struct Contestant {
    std::string name;
    std::function<double()> seconds;
};

extern const char kEmpty[]; // the name of the one whose time the host's clock takes off the others'

struct Range {
    double low, middle, high; // quartiles and median
};
Range rangeOf(std::vector<double> values);

class Turns {
  public:
    Turns(std::vector<Contestant> contestants, Clock clock);

    void warm(); // each once, not counted
    void round();
    // Up to `rounds` of them, or where that is 0 as many as befit the tokens within a few seconds.
    void go(uint32_t rounds, uint32_t tokens);

    size_t size() const { return contestants_.size(); }
    size_t rounds() const { return times_[0].size(); }
    const std::string& name(size_t i) const { return contestants_[i].name; }
    double last() const { return times_[0].back(); } // of the first contestant
    Range seconds(size_t i) const;
    // The first one's time to this one's: of each round the quotient. Not a number where the clock cannot tell.
    Range ratio(size_t i) const;

  private:
    double overhead() const;

    std::vector<Contestant> contestants_;
    std::vector<std::vector<double>> times_; // of each contestant, of each round
    Clock clock_;
};

uint32_t roundsFor(uint32_t tokens);

} // namespace measure
