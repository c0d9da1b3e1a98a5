// Tests how the bench takes times: repeated work goes through its buffer sets in turns, a copy gets its first contents
// back in time, and a clock that moved is noticed.
#include "bench/harness/buffer_copies.hpp"
#include "bench/harness/clock_probe.hpp"
#include "bench/harness/round_robin.hpp"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include <cmath>
#include <cstring>
#include <thread>

namespace {

// A rotation of one head in place, with what the rotation reads.
struct InPlace {
    std::vector<double> frequencies = sample::frequencies(10000, 64);
    std::vector<uint32_t> words = sample::words(frequencies, ROPE_ANGLE_EXACT);
    RopeRotateDescription rotate = {};
    RopePlan plan;
    std::vector<float> q = sample::values(64, 1);

    explicit InPlace(const RopeLimits& limits) {
        rotate.tokens = 1;
        rotate.head_dim = 64;
        rotate.q.heads = 1;
        rotate.positions.kind = ROPE_POSITIONS_COUNTED;
        rotate.positions.first = 7;
        rotate.rotation.frequencies = {frequencies.data(), 32, 1, nullptr, 1};
        EXPECT_EQ(ropePlanRotate(&rotate, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    }

    // Returns what the CPU makes of the head when the head is turned so often.
    std::vector<float> turned(int times) const {
        std::vector<float> from = q, to(q.size());
        for (int i = 0; i < times; ++i) {
            RopeHostRotate host = {};
            host.q = from.data();
            host.q_out = to.data();
            EXPECT_EQ(ropeHostRunRotate(&rotate, &host, nullptr), ROPE_SUCCESS);
            from = to;
        }
        return from;
    }
};

// A fast dispatch is repeated until its submission takes long enough. One that takes long by itself is alone.
TEST(BenchTimes, RepeatsUntilASubmissionTakesLongEnough) {
    const auto repeatsOf = [](double dispatch, double submission, uint32_t most) {
        uint32_t repeats = 1, next = 1;
        do {
            repeats = next;
            next = measure::moreRepeats(repeats, submission + repeats * dispatch, 1e-3, most);
        } while (next != repeats);
        return repeats;
    };
    EXPECT_EQ(repeatsOf(1e-3, 0, 1000), 1u);
    EXPECT_EQ(repeatsOf(0.8e-3, 0, 1000), 1u);
    EXPECT_EQ(repeatsOf(1.0 / (1 << 20), 0, 1u << 20), 1049u);
    const uint32_t beside = repeatsOf(1e-6, 0.5e-3, 1u << 20); // most of the time is the submission's
    EXPECT_TRUE(beside >= 200 && beside <= 500) << beside;
    EXPECT_EQ(repeatsOf(1e-6, 0, 64), 64u);
}

// What is left of a time without its submission is a time, or no number.
TEST(BenchTimes, AreNoNumbersWhereTheyDrownInTheSubmission) {
    const measure::Quartiles sure = measure::withoutSubmission({3, 4, 5}, 2, 2, 2);
    EXPECT_EQ(sure.low, 2);
    EXPECT_EQ(sure.median, 3);
    EXPECT_EQ(sure.high, 4);
    const measure::Quartiles fewer = measure::withoutSubmission({3, 4, 5}, 2, 2, 1);
    EXPECT_EQ(fewer.median, 6);
    for (const double submission : {3.0, 4.0, 8.0}) {
        const measure::Quartiles drowned = measure::withoutSubmission({3, 4, 5}, submission, 1, 1);
        EXPECT_TRUE(std::isnan(drowned.low) && std::isnan(drowned.median) && std::isnan(drowned.high)) << submission;
    }
}

class BenchRepeats : public gpu::OnDevice {};

// Without a barrier between two repetitions synchronization validation speaks up.
TEST_P(BenchRepeats, GoThroughTheBufferSetsInTurns) {
    constexpr uint32_t kSets = 3, kStride = 256;
    InPlace made(device().limits());
    std::string error;
    rope::Buffer words, heads;
    ASSERT_TRUE(device().makeBuffer(made.words.size() * 4, &words, &error)) << error;
    ASSERT_TRUE(device().upload(words, 0, made.words.data(), made.words.size() * 4, &error)) << error;
    ASSERT_TRUE(device().makeBuffer(uint64_t{kSets} * kStride, &heads, &error)) << error;
    for (uint32_t set = 0; set < kSets; ++set)
        ASSERT_TRUE(device().upload(heads, set * kStride, made.q.data(), kStride, &error)) << error;
    measure::Work work;
    work.plans = {made.plan};
    work.buffers.resize(1);
    work.buffers[0].first.slots[ROPE_SLOT_FREQUENCIES] = words.slot();
    work.buffers[0].first.slots[ROPE_SLOT_Q] = heads.slot();
    work.buffers[0].stride[ROPE_SLOT_Q] = kStride;
    work.sets = kSets;
    std::vector<uint32_t> told;
    work.before_uses = [&told](uint32_t uses) { told.push_back(uses); };
    measure::RepeatedWork repeated(&device(), std::move(work));
    ASSERT_TRUE(repeated.prepare(&error)) << error;
    for (const uint32_t repeats : {1u, 7u}) // the second submission begins where the first ended
        ASSERT_TRUE(repeated.run(repeats, &error, nullptr)) << error;
    EXPECT_EQ(told, (std::vector<uint32_t>{1, 3}));
    for (uint32_t set = 0; set < kSets; ++set) {
        std::vector<float> got(made.q.size());
        ASSERT_TRUE(device().download(heads, set * kStride, got.data(), kStride, &error)) << error;
        EXPECT_EQ(got, made.turned(set < 2 ? 3 : 2)) << "set " << set;
    }
}

TEST_P(BenchRepeats, GiveACopyItsFirstContentsBack) {
    constexpr uint32_t kMostUses = 4;
    measure::BenchDevice bench = measure::openBenchDevice(GetParam().select, measure::Clock::kHost, 1000);
    InPlace made(bench.limits());
    const rope::Buffer words = bench.make(made.words.data(), made.words.size() * 4);
    const rope::Buffer head = bench.make(made.q.data(), made.q.size() * 4);
    RopeBuffers slots = {};
    slots.slots[ROPE_SLOT_FREQUENCIES] = words.slot();
    slots.slots[ROPE_SLOT_Q] = head.slot();
    measure::BufferCopies copies(&bench, {&head}, kMostUses);
    EXPECT_EQ(copies.sets(), 4u); // of 256 bytes, which make up 1000
    measure::Work work = copies.work({made.plan}, {slots});
    const measure::BufferSets sets = work.buffers[0];
    rope::Buffer last = bench.make(256);
    measure::RepeatedWork repeated(&bench.device(), std::move(work));
    EXPECT_EQ(repeated.mostRepeats(), 16u);
    std::string error;
    ASSERT_TRUE(repeated.prepare(&error)) << error;
    const std::pair<uint32_t, int> submissions[] = {{12, 3}, {4, 4}, {8, 2}}; // repetitions, and turns since the refill
    for (const auto& submission : submissions) {
        bench.time(&repeated, submission.first);
        bench.submit([&](VkCommandBuffer commands) {
            const RopeBuffer from = sets.at(3).slots[ROPE_SLOT_Q];
            const VkBufferCopy region = {from.offset, 0, 256};
            bench.device().vk().CmdCopyBuffer(commands, from.buffer, last.handle(), 1, &region);
        });
        const std::vector<uint8_t> got = bench.read(last, 0, 256);
        std::vector<float> values(64);
        std::memcpy(values.data(), got.data(), got.size());
        EXPECT_EQ(values, made.turned(submission.second));
    }
}

ROPE_ON_EVERY_DEVICE(BenchRepeats);

class BenchWarmUp : public gpu::OnDevice {};

TEST_P(BenchWarmUp, EndsWithinItsLimitsAndComesAgainAfterAPause) {
    measure::BenchDevice bench = measure::openBenchDevice(GetParam().select, measure::Clock::kHost);
    measure::WarmUpLimits limits = measure::warmUpLimits(false);
    limits.least = 0.05;
    limits.most = 0.2;
    limits.most_later = 0.1;
    limits.moment = 1;
    limits.sample_interval = 0.2;
    limits.rows = 256;
    measure::ClockProbe clock(&bench, limits);
    clock.keepWarm();
    EXPECT_EQ(clock.warmUps(), 1u);
    EXPECT_GE(clock.warmUpSeconds(), limits.least);
    EXPECT_EQ(clock.report().samples, 1u);
    clock.keepWarm(); // too early for a second sample
    EXPECT_EQ(clock.warmUps(), 1u);
    EXPECT_EQ(clock.report().samples, 1u);
    std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * limits.sample_interval));
    clock.keepWarm();
    EXPECT_EQ(clock.warmUps(), 1u);
    EXPECT_EQ(clock.report().samples, 2u);
    std::this_thread::sleep_for(std::chrono::duration<double>(1.1 * limits.moment));
    clock.keepWarm();
    EXPECT_EQ(clock.warmUps(), 2u);
    EXPECT_LE(clock.warmUpSeconds(), 2.0) << "of both";
}

ROPE_ON_EVERY_DEVICE(BenchWarmUp);

TEST(BenchClock, HasSettledWhenAFewTimesAreAlikeAndAsBefore) {
    const std::vector<double> alike(5, 1e-4);
    EXPECT_TRUE(measure::hasSettled(alike, 0));
    EXPECT_TRUE(measure::hasSettled(alike, 1e-4));
    EXPECT_FALSE(measure::hasSettled(alike, 5e-5)) << "alike, but at a low clock";
    EXPECT_FALSE(measure::hasSettled({1e-4, 1e-4, 1e-4, 1e-4}, 0));
    EXPECT_FALSE(measure::hasSettled({1e-4, 1e-4, 1e-4, 1e-4, 1.1e-4}, 0));
    EXPECT_TRUE(measure::hasSettled({9e-4, 5e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4}, 0));
}

TEST(BenchClock, IsSaidToMoveWhenTheLastQuarterDiffersFromTheFirst) {
    std::vector<double> seconds(40, 1e-4);
    measure::ClockReport report = measure::judgeClock(seconds);
    EXPECT_FALSE(report.moved);
    EXPECT_FALSE(report.spread);
    EXPECT_EQ(report.sentence(), "");
    for (size_t i = 30; i < 40; ++i) seconds[i] = 1.05e-4;
    EXPECT_FALSE(measure::judgeClock(seconds).moved);
    for (size_t i = 30; i < 40; ++i) seconds[i] = 2.5e-4;
    report = measure::judgeClock(seconds);
    EXPECT_TRUE(report.moved);
    EXPECT_EQ(report.samples, 40u);
    EXPECT_NE(report.sentence().find("100.0 us in the first quarter of the run and 250.0 us in the last"),
              std::string::npos)
        << report.sentence();
    std::swap(seconds.front(), seconds.back()); // one sample is no quarter
    EXPECT_TRUE(measure::judgeClock(seconds).moved);
    EXPECT_TRUE(measure::judgeClock({seconds.rbegin(), seconds.rend()}).moved) << "a clock that rises moves too";
}

TEST(BenchClock, IsSaidToBeUnsteadyWhenItsQuartilesLieApart) {
    std::vector<double> seconds;
    for (int i = 0; i < 40; ++i) seconds.push_back(i % 2 == 0 ? 1e-4 : 1.5e-4);
    const measure::ClockReport report = measure::judgeClock(seconds);
    EXPECT_FALSE(report.moved);
    EXPECT_TRUE(report.spread);
    EXPECT_NE(report.sentence().find("100.0 to 150.0 us"), std::string::npos) << report.sentence();
}

TEST(BenchClock, IsNotJudgedByAFewSamples) {
    EXPECT_EQ(measure::judgeClock({}).samples, 0u);
    const measure::ClockReport report = measure::judgeClock({1e-4, 1e-4, 3e-4, 3e-4});
    EXPECT_EQ(report.samples, 4u);
    EXPECT_EQ(report.sentence(), "");
}

} // namespace
