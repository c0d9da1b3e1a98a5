// Round robin timing: in every round each contestant's turn comes once, in another order each time, so that
// disturbances of the machine hit all contestants alike. A turn is one submission of as many repetitions as make its
// time well above the clock's grain and the submission's cost. The others are compared with the first contestant.
#pragma once

#include "bench/harness/clock_probe.hpp"

namespace measure {

struct Contestant {
    std::string name;
    Work work;
    double share = 1; // the work's time is multiplied by it
};

extern const char kEmptyDispatch[]; // a dispatch that does nothing; on the host's clock its submission is subtracted
extern const char kWarm[];          // the first contestant on one set of buffers, which a cache holds

class RoundRobin {
  public:
    // `clock` may be null: then nothing is warmed up but by the contestants themselves.
    RoundRobin(BenchDevice* bench, ClockProbe* clock, std::vector<Contestant> contestants);

    void warmUp(); // makes pipelines and chooses the numbers of repetitions
    void runRound();
    // Runs `rounds` rounds. If `rounds` is 0, runs as many as suit the tokens within a few seconds.
    void runRounds(uint32_t rounds, uint32_t tokens);

    size_t size() const { return contestants_.size(); }
    size_t rounds() const { return contestants_[0].times.size(); }
    const std::string& name(size_t i) const { return contestants_[i].name; }
    uint32_t repeats(size_t i) const { return contestants_[i].repeats; } // in one submission
    double lastSeconds() const { return contestants_[0].times.back(); }  // of a repetition of the first contestant
    // Returns the time of a repetition; NaN if it drowns in the noise of the submissions that are subtracted.
    Quartiles seconds(size_t i) const;
    // Returns the quartiles of the rounds' quotients of the first contestant's time to this one's; NaN where either
    // time drowned.
    Quartiles ratio(size_t i) const;

  private:
    struct Turns {
        std::string name;
        double share;
        RepeatedWork work;
        uint32_t repeats = 1;
        std::vector<double> times; // of a repetition, by round; with its part of the submission
    };
    void chooseRepeats(Turns* turns);
    Turns* emptyDispatch();

    BenchDevice* bench_;
    ClockProbe* clock_;
    std::vector<Turns> contestants_;
    std::vector<double> submissions_; // of one empty dispatch, by round; only on the host's clock
};

uint32_t roundsFor(uint32_t tokens);

// Returns how many repetitions to try after so many took `taken` seconds: the same number if that was long enough, or
// if they are the most. On the host's clock the first ones are mostly the submission, which is why the number is raised
// in steps.
uint32_t moreRepeats(uint32_t repeats, double taken, double wanted, uint32_t most);

// Takes a submission's time from that of a repetition, of which the submission had `repeats` and `left` are counted.
// Returns NaN unless all that is left is positive.
Quartiles withoutSubmission(const Quartiles& all, double submission, double repeats, double left);

} // namespace measure
