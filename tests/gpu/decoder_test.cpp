// A decoder's attention over a paged cache, by every path and way of submitting, against the same model in double.
#include "decoder/decoder.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cmath>

using namespace decoder;

namespace {

constexpr uint32_t kPrefill = 23;
constexpr uint32_t kSteps = 50;
constexpr uint32_t kShiftAt = 48;    // the token before which the context is shifted
constexpr double kAgrees = 1e-4;     // of the range of the true logits
constexpr double kClearlyOff = 1e-3; // so too

const Model& model() {
    static const Model made = makeModel(1);
    return made;
}

std::vector<uint32_t> tokens() {
    std::vector<uint32_t> all(kPrefill + kSteps);
    sample::Random random(2);
    for (uint32_t& token : all) token = random.below(VOCABULARY);
    return all;
}

const std::vector<std::vector<double>>& trueLogits() {
    static const std::vector<std::vector<double>> all = [] {
        std::vector<std::vector<double>> rows;
        Reference reference(model());
        for (uint32_t token : tokens()) {
            if (rows.size() == kShiftAt) reference.drop(kKept, kDropped);
            rows.push_back(reference.step(token));
        }
        return rows;
    }();
    return all;
}

// The largest difference as a share of the true logits' range, over all tokens.
double worstOf(const std::vector<float>& logits) {
    double worst = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
        const std::vector<double>& wanted = trueLogits()[i / VOCABULARY];
        const auto range = std::minmax_element(wanted.begin(), wanted.end());
        const double difference = std::fabs(logits[i] - wanted[i % VOCABULARY]);
        worst = std::fmax(worst, std::isfinite(difference) ? difference / (*range.second - *range.first) : HUGE_VAL);
    }
    return worst;
}

void step(uint32_t first, uint32_t count, Decoder* decoder, std::vector<float>* logits) {
    const std::vector<uint32_t> all = tokens();
    std::vector<float> rows;
    ASSERT_NO_FATAL_FAILURE(decoder->step({all.begin() + first, all.begin() + first + count}, &rows));
    logits->insert(logits->end(), rows.begin(), rows.end());
}

// Prefill, then one token after the other, with a context shift between two of them.
void run(rope::Device* device, const Options& options, std::vector<float>* logits) {
    Decoder decoder(device, model(), options);
    ASSERT_NO_FATAL_FAILURE(decoder.make());
    ASSERT_NO_FATAL_FAILURE(step(0, kPrefill, &decoder, logits));
    decoder.expectRestUntouched();
    for (uint32_t i = kPrefill; i < tokens().size(); ++i) {
        if (i == kShiftAt) {
            ASSERT_NO_FATAL_FAILURE(decoder.shift());
        }
        ASSERT_NO_FATAL_FAILURE(step(i, 1, &decoder, logits));
        if (options.fault != Fault::kNone && worstOf(*logits) > kClearlyOff) return;
    }
    decoder.expectRestUntouched();
}

class DecoderTest : public gpu::OnDevice {
  protected:
    void expectAgreement(Path path) {
        std::vector<float> first;
        const Options ways[] = {{path, Submission::kRecordedEachStep, ROPE_CACHE_PAGE_TABLE},
                                {path, Submission::kRecordedOnce, ROPE_CACHE_PAGE_TABLE},
                                {path, Submission::kRecordedOnce, ROPE_CACHE_SLOTS},
                                {path, Submission::kIndirect, ROPE_CACHE_SLOTS}};
        for (const Options& way : ways) {
            SCOPED_TRACE(testing::Message()
                         << "submission " << static_cast<int>(way.submission) << " cache " << way.cache);
            std::vector<float> logits;
            ASSERT_NO_FATAL_FAILURE(run(&device(), way, &logits));
            EXPECT_LE(worstOf(logits), kAgrees);
            if (first.empty()) first = logits;
            EXPECT_EQ(logits, first);
        }
    }
    void expectFound(Path path, RopeCacheKind cache, Fault fault) {
        SCOPED_TRACE(testing::Message() << "path " << static_cast<int>(path) << " fault " << static_cast<int>(fault));
        std::vector<float> logits;
        ASSERT_NO_FATAL_FAILURE(run(&device(), {path, Submission::kRecordedOnce, cache, fault}, &logits));
        EXPECT_GT(worstOf(logits), kClearlyOff);
    }
};

TEST_P(DecoderTest, UnfusedPassesAgree) { expectAgreement(Path::kUnfused); }

TEST_P(DecoderTest, FusedPassesAgree) { expectAgreement(Path::kFused); }

TEST_P(DecoderTest, KeysTurnedAsTheyAreReadAgree) { expectAgreement(Path::kTurnedAsRead); }

// A shift rounds keys once more, but for those that are turned as they are read.
TEST_P(DecoderTest, EveryPathGivesTheSameBitsUpToTheShift) {
    std::vector<float> first;
    for (Path path : {Path::kUnfused, Path::kFused, Path::kTurnedAsRead}) {
        Decoder decoder(&device(), model(), {path, Submission::kRecordedOnce, ROPE_CACHE_PAGE_TABLE});
        ASSERT_NO_FATAL_FAILURE(decoder.make());
        std::vector<float> logits;
        ASSERT_NO_FATAL_FAILURE(step(0, kPrefill, &decoder, &logits));
        while (decoder.length() < kShiftAt) {
            ASSERT_NO_FATAL_FAILURE(step(decoder.length(), 1, &decoder, &logits));
        }
        if (first.empty()) first = logits;
        EXPECT_EQ(logits, first) << static_cast<int>(path);
    }
}

TEST_P(DecoderTest, CountsBeyondWhatIsThereAreNotOverrun) {
    Options options = {Path::kFused, Submission::kIndirect, ROPE_CACHE_PAGE_TABLE};
    options.excess = true;
    Decoder decoder(&device(), model(), options);
    ASSERT_NO_FATAL_FAILURE(decoder.make());
    std::vector<float> logits;
    for (uint32_t count : std::initializer_list<uint32_t>{MOST_TOKENS, 1, 3}) {
        ASSERT_NO_FATAL_FAILURE(step(decoder.length(), count, &decoder, &logits));
        decoder.expectRestUntouched();
    }
    EXPECT_LE(worstOf(logits), kAgrees);
}

TEST_P(DecoderTest, AWrongSlotPageOrSignIsFound) {
    for (Path path : {Path::kUnfused, Path::kFused, Path::kTurnedAsRead}) {
        expectFound(path, ROPE_CACHE_SLOTS, Fault::kSlot);
        expectFound(path, ROPE_CACHE_PAGE_TABLE, Fault::kPage);
        expectFound(path, ROPE_CACHE_PAGE_TABLE, Fault::kSign);
        if (path != Path::kTurnedAsRead) expectFound(path, ROPE_CACHE_PAGE_TABLE, Fault::kDelta);
    }
}

ROPE_ON_EVERY_DEVICE(DecoderTest);

} // namespace
