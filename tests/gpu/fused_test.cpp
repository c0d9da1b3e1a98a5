// Fused passes on every device: their bits are the CPU's, and those of the passes that they replace.
#include "plan/description.h"
#include "plan/pass.h"
#include "support/combinations.hpp"
#include "support/floor.hpp"
#include "support/fusion.hpp"
#include "support/sample.hpp"

#include "plan/element_formats.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace {

using combinations::choiceIf;

// Where a norm's weights come from: nowhere, from the parameters, or from a buffer of their own of some element.
uint64_t weightChoice(const RopeNorm& norm) {
    if (norm.no_weights != 0 || norm.weights != nullptr) return norm.weights != nullptr;
    return 1u + std::max<uint32_t>(norm.weights_element, ROPE_ELEMENT_F32);
}

// The choices of a scene, each a small number; those that mean nothing in it are none.
combinations::Choices choicesOf(const fusion::Scene& scene) {
    const RopeFusedDescription& d = scene.d;
    const RopeFusedDescription& r = d;
    const RopeCache& cache = d.cache;
    const bool turns = d.k.no_rotation == 0, is_inline = turns && r.rotation.source == ROPE_SOURCE_INLINE;
    const bool maps = cache.kind == ROPE_CACHE_SLOTS || cache.kind == ROPE_CACHE_PAGE_TABLE;
    const bool has_cache = cache.kind != ROPE_CACHE_NONE, q = r.q.heads != 0, k = r.k.heads != 0;
    return {choiceIf(turns, r.rotation.source),
            choiceIf(is_inline, r.rotation.angle),
            choiceIf(turns, r.rotation.pairing),
            choiceIf(turns, r.rotation.operation),
            choiceIf(true, r.element),
            choiceIf(true, r.q.element),
            choiceIf(q, r.out_of_place),
            choiceIf(true, r.positions.kind),
            choiceIf(r.positions.kind != ROPE_POSITIONS_COUNTED, r.positions.element),
            choiceIf(turns, r.rotation.frequencies.sets > 1),
            choiceIf(true, d.k.no_rotation),
            choiceIf(true, d.packed_qkv),
            choiceIf(true, q + 2u * k),
            choiceIf(k && d.v.heads != 0, d.v.heads != r.k.heads || d.v.head_dim != r.k.head_dim),
            choiceIf(true, d.tokens_counted),
            choiceIf(q, d.q.norm.kind),
            choiceIf(d.q.norm.kind != ROPE_NORM_NONE, d.q.norm.after),
            choiceIf(k, d.k.norm.kind),
            choiceIf(q, d.query_scale.count != 0),
            choiceIf(k, cache.kind),
            choiceIf(cache.kind == ROPE_CACHE_RING, r.tokens > cache.slots),
            choiceIf(d.tokens_counted != 0 && r.batch > 1, d.tokens_batch_stride != 0),
            choiceIf(has_cache, cache.order),
            choiceIf(has_cache, d.k.element),
            choiceIf(has_cache && d.v.heads != 0, d.v.element),
            choiceIf(has_cache, d.k.given_scale.count + 2 * d.k.given_scale.multiplies),
            choiceIf(has_cache && d.v.heads != 0, cache.one_buffer),
            choiceIf(has_cache, d.rotation.operation == ROPE_OPERATION_SHIFT),
            choiceIf(maps, cache.map_element),
            choiceIf(maps, cache.map_in_positions),
            choiceIf(d.q.norm.kind != ROPE_NORM_NONE, weightChoice(d.q.norm)),
            choiceIf(d.k.norm.kind != ROPE_NORM_NONE, weightChoice(d.k.norm)),
            choiceIf(d.v.heads != 0, d.v.norm.kind),
            choiceIf(d.k.norm.kind != ROPE_NORM_NONE, (d.k.norm.begin | d.k.norm.dim) != 0),
            choiceIf(true, d.clip != 0),
            choiceIf(d.q.bias != 0, d.bias_element),
            choiceIf(q && k, r.q.head_dim != r.k.head_dim),
            choiceIf(true, (d.q.hadamard | d.k.hadamard | d.v.hadamard) != 0)};
}

class FusedOnDevice : public gpu::OnDevice {
  protected:
    // Each scene is made of pipelines of its own, which take long to compile. VKROPE_SCENES asks for so many. A scene
    // that this device refuses brings no choices together.
    std::vector<uint64_t> seeds() {
        const char* asked = std::getenv("VKROPE_SCENES");
        if (asked != nullptr) {
            std::vector<uint64_t> all(std::strtoull(asked, nullptr, 10));
            std::iota(all.begin(), all.end(), uint64_t{0});
            return all;
        }
        const auto choices_of = [&](uint64_t seed) {
            fusion::Scene scene;
            fusion::draw(seed, &scene);
            const combinations::Choices choices = choicesOf(scene);
            RopePlan plan;
            const RopeLimits limits = fusion::limitsOf(scene, device().limits());
            if (ropePlanFused(&scene.d, &limits, &plan) == ROPE_SUCCESS) return choices;
            return combinations::Choices(choices.size(), tool::kNoChoice);
        };
        // A draw that would bring fewer than 6 new pairs is left out. This keeps 19 in 20 pairs of all draws.
        return share(combinations::draws(700, strength() - 1, choices_of, 6));
    }
};

bool takesQBesideIntegers(const rope::PlanPass& pass) {
    return pass.facts.heads[0] != 0 && rope::isForCaches(static_cast<RopeElement>(pass.facts.elements[1]));
}

// More than half of them fit a device, and of one at the floor, which has four storage buffers, more than a third.
uint64_t leastOf(uint64_t count) { return gpu::floorAsked() ? count / 3 : count / 2; }

TEST_P(FusedOnDevice, GivesTheBitsOfThePassesItReplaces) {
    uint32_t ran = 0, taken = 0, parted = 0, beside_integers = 0;
    const std::vector<uint64_t> all = seeds();
    for (const uint64_t seed : all) {
        if (HasFailure()) break;
        if (++taken % 50 == 0) reopenDevice();
        fusion::Scene scene;
        fusion::draw(seed, &scene);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + fusion::describe(scene));
        RopePlan plan;
        const RopeLimits limits = fusion::limitsOf(scene, device().limits());
        if (ropePlanFused(&scene.d, &limits, &plan) != ROPE_SUCCESS) {
            EXPECT_NE(std::string(plan.reason.text), "");
            // Where the positions end is unknown of a scene that is refused for another reason too.
            const bool overlaps = std::string(plan.reason.text).find("of one buffer") != std::string::npos;
            EXPECT_TRUE(!overlaps || fusion::positionElements(scene.d) == 0) << plan.reason.text;
            continue;
        }
        ++ran;
        for (uint32_t i = 0; i < plan.pass_count; ++i) {
            parted += plan.passes[i].dispatches != 1;
            beside_integers += takesQBesideIntegers(rope::passAt(plan, i));
        }
        const gpu::Slots before = fusion::makeSlots(scene, plan, seed);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        ASSERT_TRUE(fusion::checkHost(scene, plan, before, after));
        // A shift is its own unfused pass: its bits are the CPU's.
        if (scene.shifts) continue;
        ASSERT_TRUE(fusion::checkUnfused(&device(), scene, before, after));
    }
    EXPECT_GT(ran, leastOf(all.size()));
    EXPECT_TRUE(parted > 1 || all.size() < 50);
    EXPECT_TRUE(beside_integers > 1 || all.size() < 50 || gpu::floorAsked());
    std::printf("%s: %u scenes of %zu draws, %u passes in parts, %u with Q beside a cache of integers\n",
                GetParam().name.c_str(), ran, all.size(), parted, beside_integers);
}

// Q stands beside these in the scene below.
struct BesideQ {
    RopeElement element;
    uint32_t given;        // the cache's scale is
    uint32_t latent;       // K alone, three times as wide as Q, and the part of it that does not turn normed
    uint32_t out_of_place; // of Q
    uint32_t batch;
    RopeElement element_in;
    bool narrow; // K and V are half as wide as Q, and have fewer lanes, if Q moves whole: out of place
};

void describeBesideQ(const BesideQ& b, fusion::Scene* scene) {
    scene->frequencies = sample::frequencies(10000, 64);
    scene->k_scales = {0.0625f, 0.125f};
    RopeFusedDescription& d = scene->d;
    d.batch = b.batch;
    d.tokens = 9;
    d.head_dim = b.latent != 0 ? 192 : 128;
    d.rotation.rotary_begin = b.latent != 0 ? 128 : 0;
    d.rotation.rotary_dim = 64;
    d.element = d.q.element = d.k.element = d.v.element = b.element_in;
    d.out_of_place = b.out_of_place;
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    d.rotation.pairing_out = b.out_of_place != 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
    d.rotation.skip_first = 2; // these change their order alone
    d.rotation.frequencies = {scene->frequencies.data(), 32, 1.25, nullptr, 1};
    d.q.heads = 5;
    d.k.heads = d.v.heads = 2;
    d.cache.kind = ROPE_CACHE_PAGE_TABLE;
    d.cache.map_in_positions = 1;
    d.k.element = d.v.element = b.element;
    d.cache.slots = 64;
    d.cache.page_size = 16;
    d.cache.table_pages = 2;
    d.cache.map_offset = uint64_t{b.batch} * 9;
    d.k.stored_scales.offset = d.v.stored_scales.offset = 64 * 2 * 128 / 4 + 3;
    if (b.given != 0) d.k.given_scale = d.v.given_scale = {scene->k_scales.data(), 2, 0};
    if (b.narrow) d.k.head_dim = d.v.head_dim = 64;
    if (b.latent == 0) return;
    scene->q_weights = sample::values(192, 7);
    scene->k_weights = sample::values(512, 8);
    d.v.heads = 0;
    d.v.given_scale = {};
    d.k.heads = 1;
    d.k.head_dim = 576;
    d.k.rotary_begin = 512;
    d.k.stored_scales.offset = 64 * 576 / 4;
    if (b.given != 0) d.k.given_scale.count = 1;
    d.k.norm = {ROPE_NORM_RMS, 1e-6f, 0, 0, 0, 512, 0, scene->k_weights.data(), nullptr, {}, 0, 0, 0, 0};
    if (b.out_of_place != 0)
        d.q.norm = {ROPE_NORM_RMS, 1e-6f, 0, 0, 0, 0, 0, scene->q_weights.data(), nullptr, {}, 0, 0, 0, 0};
}

// Q takes one dispatch with K and V that become integers, float8 or blocks, as the plans of GPUs have it, with the bits
// that it has alone.
TEST_P(FusedOnDevice, QGoesBesideCachesOfIntegers) {
    RopeLimits limits = device().limits();
    if (limits.storage_buffers < 8) GTEST_SKIP() << "Q, K and V have eight buffers";
    limits.threads = 16384;
    for (uint32_t number = 0; number < 5 * (rope::kLastElement - ROPE_ELEMENT_I8 + 1); ++number) {
        BesideQ b = {static_cast<RopeElement>(ROPE_ELEMENT_I8 + number / 5),
                     0,
                     number % 5 % 2,
                     number % 5 > 1,
                     1,
                     {},
                     number % 5 == 4};
        b.given = rope::isFloat8(b.element) && number % 5 < 3;
        b.batch = 1 + number % 3 / 2;
        b.element_in = static_cast<RopeElement>(1 + number % 3);
        SCOPED_TRACE(std::string(rope::formatOf(b.element).name) + " given " + std::to_string(b.given) + " latent " +
                     std::to_string(b.latent) + " out of place " + std::to_string(b.out_of_place) + " narrow " +
                     std::to_string(b.narrow));
        fusion::Scene scene;
        describeBesideQ(b, &scene);
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&scene.d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        ASSERT_TRUE(takesQBesideIntegers(rope::passAt(plan, 0)));
        if (!takes(number)) continue;
        const gpu::Slots before = fusion::makeSlots(scene, plan, number);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        ASSERT_TRUE(fusion::checkHost(scene, plan, before, after));
        ASSERT_TRUE(fusion::checkUnfused(&device(), scene, before, after));
    }
}

// The slots of a part of a cache: -1 where a token's slot lies in another part.
std::vector<int32_t> slotsInPart(const std::vector<int32_t>& slots, int32_t part, int32_t part_slots) {
    std::vector<int32_t> own;
    for (const int32_t slot : slots) own.push_back(slot / part_slots == part ? slot % part_slots : -1);
    return own;
}

// A cache that no binding spans takes a pass of K and V for each part, as the refusal says.
TEST_P(FusedOnDevice, PassesForThreePartsFillACacheAsOnePassDoes) {
    constexpr int32_t kParts = 3, kPartSlots = 16;
    const std::vector<int32_t> slots = {40, 0, 17, 31, 15, 16, 47, 5, 32, 20, 1, 33};
    for (const RopeElement element : {ROPE_ELEMENT_F16, ROPE_ELEMENT_I8, ROPE_ELEMENT_Q8_0, ROPE_ELEMENT_F8_E4M3}) {
        fusion::Scene scene;
        scene.frequencies = sample::frequencies(10000, 64);
        RopeFusedDescription& d = scene.d;
        d.tokens = static_cast<uint32_t>(slots.size());
        d.head_dim = 64;
        d.k.heads = d.v.heads = 3;
        d.count_outside = 1;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.rotation.frequencies = {scene.frequencies.data(), 32, 1, nullptr, 1};
        d.cache.kind = ROPE_CACHE_SLOTS;
        d.cache.map_in_positions = 1;
        d.k.element = d.v.element = element;
        d.cache.slots = kParts * kPartSlots;
        if (rope::formatOf(element).scale == rope::ElementScale::kApart) { // behind the elements of each slot
            d.k.to = {0, 0, 0, 3 * 64 + 3 * 4, 64};
            d.k.stored_scales = {3 * 64 / 4, 0, 0, (3 * 64 + 3 * 4) / 4, 1};
        }
        d.v.to = d.k.to;
        d.v.stored_scales = d.k.stored_scales;
        const RopeLimits& limits = device().limits();
        RopePlan whole, part, refused;
        ASSERT_EQ(ropePlanFused(&d, &limits, &whole), ROPE_SUCCESS) << whole.reason.text;
        gpu::Slots all = fusion::makeSlots(scene, whole, 5);
        all.set(ROPE_SLOT_POSITIONS, slots);
        const gpu::Slots before = all;
        ASSERT_TRUE(gpu::run(&device(), whole, &all));
        RopeLimits small = limits; // that no more than a part fits
        small.storage_range = whole.bytes[ROPE_SLOT_K_OUT] / 2;
        EXPECT_EQ(ropePlanFused(&d, &small, &refused), ROPE_ERROR_TOO_LARGE);
        EXPECT_NE(
            std::string(refused.reason.text).find("take a pass of K and V for each part of the cache, with SLOTS"),
            std::string::npos)
            << refused.reason.text;
        d.cache.slots = kPartSlots;
        ASSERT_EQ(ropePlanFused(&d, &small, &part), ROPE_SUCCESS) << part.reason.text;
        for (const RopeSlot slot : {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) ASSERT_LE(part.bytes[slot], small.storage_range);
        gpu::Slots filled = before;
        const size_t step = before.bytes[ROPE_SLOT_K_OUT].size() / kParts;
        for (int32_t number = 0; number < kParts; ++number) {
            gpu::Slots own = before;
            own.set(ROPE_SLOT_POSITIONS, slotsInPart(slots, number, kPartSlots));
            const auto begin = static_cast<ptrdiff_t>(static_cast<size_t>(number) * step);
            for (const RopeSlot slot : {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
                const std::vector<uint8_t>& cache = before.bytes[slot];
                own.bytes[slot].assign(cache.begin() + begin, cache.begin() + begin + static_cast<ptrdiff_t>(step));
            }
            ASSERT_TRUE(gpu::run(&device(), part, &own));
            for (const RopeSlot slot : {ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT})
                std::copy(own.bytes[slot].begin(), own.bytes[slot].end(), filled.bytes[slot].begin() + begin);
            EXPECT_EQ(own.get<uint32_t>(ROPE_SLOT_COUNTER)[0], 0u);
        }
        EXPECT_EQ(filled.bytes[ROPE_SLOT_K_OUT], all.bytes[ROPE_SLOT_K_OUT]) << element;
        EXPECT_EQ(filled.bytes[ROPE_SLOT_V_OUT], all.bytes[ROPE_SLOT_V_OUT]) << element;
        EXPECT_NE(filled.bytes[ROPE_SLOT_V_OUT], before.bytes[ROPE_SLOT_V_OUT]);
    }
}

// Q goes beside scales that are stored apart in parts of one sequence each.
TEST_P(FusedOnDevice, QBesideScalesGoesInPartsOfSequences) {
    RopeLimits limits = device().limits();
    if (limits.storage_buffers < 8) GTEST_SKIP() << "Q, K and V have eight buffers";
    limits.threads = 16384;
    limits.group_count[1] = 1;
    for (const RopeElement element : {ROPE_ELEMENT_I8, ROPE_ELEMENT_F8_E5M2}) {
        fusion::Scene scene;
        describeBesideQ({element, 0, 0, 1, 2, ROPE_ELEMENT_F32, false}, &scene);
        scene.d.cache.kind = ROPE_CACHE_POSITIONS;
        scene.d.k.stored_scales.offset = scene.d.v.stored_scales.offset = 2 * 64 * 2 * 128 / 4 + 3;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&scene.d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        ASSERT_EQ(plan.pass_count, 1u);
        ASSERT_EQ(ropeDispatchCount(&plan), 2u);
        const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << element;
    }
}

// A plan of several parts goes by the length of the sequence, and each sequence has its count and its cache.
TEST_P(FusedOnDevice, PartsOfALongPrefillLeaveTheRingsOfTheWhole) {
    for (const RopeElement element : {ROPE_ELEMENT_F16, ROPE_ELEMENT_I8}) { // whose scales lie behind all sequences
        for (const uint32_t counted : {0u, 1u}) {
            fusion::Scene scene;
            scene.frequencies = sample::frequencies(10000, 64);
            scene.present[0] = 131;
            scene.present[1] = 68;
            RopeFusedDescription& d = scene.d;
            d.batch = 2;
            d.tokens = 150;
            d.head_dim = 64;
            d.out_of_place = 1;
            d.k.heads = 1;
            d.rotation.frequencies = {scene.frequencies.data(), 32, 1, nullptr, 1};
            d.tokens_counted = counted;
            d.tokens_offset = 300;
            d.tokens_batch_stride = 3;
            d.cache.kind = ROPE_CACHE_RING;
            d.cache.slots = 6;
            d.k.element = d.v.element = element;
            d.k.stored_scales.offset = 2 * 6 * 64 / 4;
            RopeLimits limits = device().limits();
            limits.group_count[0] = limits.group_count[1] = 1;
            RopePlan plan;
            ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            ASSERT_GT(ropeDispatchCount(&plan), 4u);
            gpu::Slots before = fusion::makeSlots(scene, plan, 5);
            std::vector<int32_t> positions = before.get<int32_t>(ROPE_SLOT_POSITIONS);
            for (int32_t i = 0; i < 300; ++i) positions[static_cast<size_t>(i)] = i;
            // No token goes where these would, which shows if an earlier one does.
            for (const size_t lost : {65u, 128u, 147u}) positions[lost] = positions[150 + lost] = -1;
            before.set(ROPE_SLOT_POSITIONS, positions);
            gpu::Slots after = before;
            ASSERT_TRUE(gpu::run(&device(), plan, &after));
            EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << element << counted;
        }
    }
}

// A cache in the order of its slots is a tensor: turning it there is the rotation by a position for each token.
TEST_P(FusedOnDevice, AShiftIsTheRotationByItsDelta) {
    const std::vector<double> frequencies = sample::frequencies(10000, 64);
    RopeFusedDescription d = {};
    d.tokens = 12;
    d.head_dim = 80;
    d.rotation.rotary_dim = 64;
    d.rotation.frequencies = {frequencies.data(), 32, 1.25, nullptr, 1};
    d.rotation.operation = ROPE_OPERATION_SHIFT;
    d.k.heads = 3;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 12;
    d.k.element = d.v.element = ROPE_ELEMENT_F16;
    d.cache.delta = -9;
    RopeRotateDescription r = rope::rotationOf(d);
    r.element = ROPE_ELEMENT_F16;
    r.positions.kind = ROPE_POSITIONS_PER_TOKEN;
    RopePlan fused, plain;
    ASSERT_EQ(ropePlanFused(&d, &device().limits(), &fused), ROPE_SUCCESS) << fused.reason.text;
    ASSERT_EQ(ropePlanRotate(&r, &device().limits(), &plain), ROPE_SUCCESS) << plain.reason.text;
    gpu::Slots shifted, rotated;
    std::vector<uint16_t> keys(12 * 3 * 80);
    ropeConvertElements(sample::values(keys.size(), 4).data(), ROPE_ELEMENT_F32, keys.data(), ROPE_ELEMENT_F16,
                        keys.size());
    shifted.set(ROPE_SLOT_K_OUT, keys);
    rotated.set(ROPE_SLOT_K, keys);
    rotated.set(ROPE_SLOT_POSITIONS, std::vector<int32_t>(12, -9));
    for (gpu::Slots* slots : {&shifted, &rotated})
        slots->set(ROPE_SLOT_FREQUENCIES, sample::words(frequencies, ROPE_ANGLE_EXACT));
    ASSERT_TRUE(gpu::run(&device(), fused, &shifted));
    ASSERT_TRUE(gpu::run(&device(), plain, &rotated));
    EXPECT_EQ(shifted.bytes[ROPE_SLOT_K_OUT], rotated.bytes[ROPE_SLOT_K]);
    EXPECT_NE(shifted.get<uint16_t>(ROPE_SLOT_K_OUT), keys);
}

// A shift of every element in place, float8 by scales that are found and by given ones.
TEST_P(FusedOnDevice, KeysOfEveryElementTurn) {
    static const float kScale = 0.0123f;
    for (uint32_t number = 1; number <= 2 * rope::kLastElement; ++number) {
        const RopeElement element = static_cast<RopeElement>((number - 1) % rope::kLastElement + 1);
        fusion::Scene scene;
        scene.frequencies = sample::frequencies(10000, 64);
        RopeFusedDescription& d = scene.d;
        d.tokens = 12;
        d.head_dim = 128;
        d.rotation.rotary_dim = 64;
        d.k.heads = 3;
        d.rotation.frequencies = {scene.frequencies.data(), 32, 1, nullptr, 1};
        d.rotation.operation = ROPE_OPERATION_SHIFT;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.count_outside = 1;
        d.cache.kind = ROPE_CACHE_SLOTS;
        d.cache.order = ROPE_CACHE_HND;
        d.cache.slots = 48;
        d.cache.page_size = 16;
        d.k.element = d.v.element = element;
        d.k.stored_scales.offset = 48 * 3 * 128 / 4;
        d.cache.delta = -9;
        const bool given = rope::isFloat8(element) && number > rope::kLastElement;
        if (given) d.k.given_scale = {&kScale, 1, 0};
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << element << " given " << given;
        EXPECT_NE(after.bytes[ROPE_SLOT_K_OUT], before.bytes[ROPE_SLOT_K_OUT]) << element;
    }
}

// Q and K share a dispatch of a GPU, whichever of them rotates. The other is copied.
TEST_P(FusedOnDevice, OneTensorRotatesBesideAnother) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.threads = 16384;
    limits.storage_buffers = 8;
    for (const bool q_stays : {true, false}) {
        fusion::Scene scene;
        scene.frequencies = sample::frequencies(10000, 64);
        RopeFusedDescription& d = scene.d;
        d.tokens = 7;
        d.head_dim = 64;
        d.rotation.frequencies = {scene.frequencies.data(), 32, 1, nullptr, 1};
        d.rotation.pairing_out = ROPE_PAIRING_INTERLEAVED;
        d.q.heads = 4;
        d.k.heads = d.v.heads = 2;
        d.out_of_place = 1;
        (q_stays ? d.q : d.k).no_rotation = 1;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(ropeDispatchCount(&plan), 1u);
        ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        EXPECT_TRUE(fusion::checkHost(scene, plan, before, after));
        EXPECT_EQ(after.bytes[ROPE_SLOT_Q_OUT] == before.bytes[ROPE_SLOT_Q], q_stays);
        EXPECT_EQ(after.bytes[ROPE_SLOT_K_OUT] == before.bytes[ROPE_SLOT_K], !q_stays);
        EXPECT_EQ(after.bytes[ROPE_SLOT_V_OUT], before.bytes[ROPE_SLOT_V]);
    }
}

// Slots go by axis 0, whatever stands on the others; and so does the scale of queries.
TEST_P(FusedOnDevice, SlotsGoByTheFirstAxis) {
    fusion::Scene scene;
    scene.frequencies = sample::frequencies(10000, 64);
    for (uint8_t pair = 0; pair < 32; ++pair) scene.axes.push_back(pair % 2);
    scene.values = {1.0f, 2.0f, 3.0f, 4.0f};
    RopeFusedDescription& d = scene.d;
    d.tokens = 3;
    d.head_dim = 64;
    d.out_of_place = 1;
    d.count_outside = 1;
    d.q.heads = d.k.heads = d.v.heads = 2;
    d.rotation.frequencies = {scene.frequencies.data(), 32, 1, scene.axes.data(), 1};
    d.positions.element = ROPE_POSITION_INT64;
    d.query_scale = {scene.values.data(), 4, 1, 0};
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 4;
    for (const bool apart : {false, true}) {
        RopeLimits limits = device().limits();
        if (apart) limits.storage_buffers = 4;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots before = fusion::makeSlots(scene, plan, 5);
        before.set(ROPE_SLOT_POSITIONS, std::vector<int64_t>{0, 2, 3, 0, int64_t{1} << 40, 1});
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << apart;
        EXPECT_EQ(after.get<uint32_t>(ROPE_SLOT_COUNTER)[0], 1u);
    }
}

// The gap behind a page alone says what its elements' places are multiples of.
TEST_P(FusedOnDevice, PagesMayLieAnyNumberOfElementsApart) {
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16}) {
        for (const uint64_t gap : {1u, 2u, 3u, 4u}) {
            fusion::Scene scene;
            scene.frequencies = sample::frequencies(10000, 64);
            RopeFusedDescription& d = scene.d;
            d.tokens = 5;
            d.head_dim = 64;
            d.out_of_place = 1;
            d.k.heads = d.v.heads = 2;
            d.rotation.frequencies = {scene.frequencies.data(), 32, 1, nullptr, 1};
            d.cache.kind = ROPE_CACHE_POSITIONS;
            d.k.element = d.v.element = element;
            d.cache.slots = 6;
            d.cache.page_size = 2;
            d.k.to = d.v.to = {0, 0, 256 + gap, 128, 64};
            d.v.to.offset = 1024;
            d.cache.one_buffer = 1;
            RopePlan plan;
            const RopeResult planned = ropePlanFused(&d, &device().limits(), &plan);
            if (element == ROPE_ELEMENT_F16 && gap % 2 != 0) {
                EXPECT_EQ(planned, ROPE_ERROR_INVALID);
                continue;
            }
            ASSERT_EQ(planned, ROPE_SUCCESS) << plan.reason.text;
            const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
            gpu::Slots after = before;
            ASSERT_TRUE(gpu::run(&device(), plan, &after));
            EXPECT_TRUE(fusion::checkHost(scene, plan, before, after)) << gap << " elements of kind " << element;
        }
    }
}

// Llama 4's intervals: at each of their ends, before the first and behind the last.
TEST_P(FusedOnDevice, QueriesAreScaledFromOneIntervalToTheNext) {
    const std::vector<int32_t> positions = {-2, -1, 0, 8190, 8191, 8192, 16382, 16383, 24575, 1000000};
    const std::vector<float> values = {2, 3, 5, 7}, wanted = {2, 2, 2, 2, 3, 3, 3, 5, 7, 7};
    RopeFusedDescription d = {};
    d.tokens = static_cast<uint32_t>(positions.size());
    d.head_dim = 8;
    d.q.heads = 1;
    d.q.no_rotation = d.k.no_rotation = 1;
    d.query_scale = {values.data(), 4, 8192, 1};
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_Q, std::vector<float>(positions.size() * 8, 1.0f));
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.set(ROPE_SLOT_PARAMETERS, values);
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    const std::vector<float> scaled = slots.get<float>(ROPE_SLOT_Q);
    for (size_t i = 0; i < positions.size(); ++i) {
        for (size_t e = 0; e < 8; ++e) EXPECT_EQ(scaled[i * 8 + e], wanted[i]) << positions[i];
    }
}

// Weights of any element at any place are the same weights in PARAMETERS, before the rotation and behind it.
TEST_P(FusedOnDevice, WeightsAnywhereAreThoseOfTheParameters) {
    size_t number = 0;
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        for (const uint64_t offset : {0u, 1u, 2u, 3u, 4u, 69u}) {
            if (!takes(number++)) continue;
            fusion::Scene scene;
            scene.frequencies = sample::frequencies(10000, 128);
            RopeFusedDescription& d = scene.d;
            d.tokens = 3;
            d.head_dim = 128;
            d.positions.kind = ROPE_POSITIONS_COUNTED;
            d.q.heads = 5;
            d.element = offset % 2 != 0 ? ROPE_ELEMENT_F16 : ROPE_ELEMENT_F32;
            d.rotation.frequencies = {scene.frequencies.data(), 64, 1, nullptr, 1};
            d.q.norm.kind = ROPE_NORM_RMS;
            d.q.norm.after = offset > 1;
            d.q.norm.all_heads = offset > 3;
            d.q.norm.epsilon = 1e-6f;
            d.q.norm.weights_element = element;
            d.q.norm.weights_offset = offset;
            RopePlan plan, given_plan;
            ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
            const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
            gpu::Slots after = before, given = before;
            ASSERT_TRUE(gpu::run(&device(), plan, &after));
            std::vector<float> weights(d.q.norm.all_heads != 0 ? 5 * 128 : 128);
            ropeConvertElements(&before.bytes[ROPE_SLOT_Q_WEIGHTS][offset * ropeElementBytes(element)], element,
                                weights.data(), ROPE_ELEMENT_F32, weights.size());
            d.q.norm.weights = weights.data();
            ASSERT_EQ(ropePlanFused(&d, &device().limits(), &given_plan), ROPE_SUCCESS) << given_plan.reason.text;
            given.set(ROPE_SLOT_PARAMETERS, weights);
            ASSERT_TRUE(gpu::run(&device(), given_plan, &given));
            EXPECT_EQ(after.bytes[ROPE_SLOT_Q], given.bytes[ROPE_SLOT_Q]) << element << " at " << offset;
            EXPECT_NE(after.bytes[ROPE_SLOT_Q], before.bytes[ROPE_SLOT_Q]);
        }
    }
}

// Plans for six storage buffers on a context made for four.
TEST_P(FusedOnDevice, APlanBeyondTheContextsBindingsIsNotPrepared) {
    RopeContextInfo info = {};
    info.device = device().handle();
    info.get_device_proc_addr = device().vk().GetDeviceProcAddr;
    info.limits = device().limits();
    info.limits.storage_buffers = 4;
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info, &context), VK_SUCCESS);
    RopeFusedDescription d = {};
    d.tokens = 1;
    d.head_dim = 64;
    d.k.heads = d.v.heads = 1;
    d.q.no_rotation = d.k.no_rotation = 1;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.cache.slots = 4;
    RopeLimits limits = info.limits;
    limits.storage_buffers = 6;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropePrepare(context, &plan, 1, nullptr), VK_ERROR_FEATURE_NOT_PRESENT);
    ropeDestroyContext(context);
}

} // namespace

ROPE_ON_EVERY_DEVICE(FusedOnDevice);
