// Writes a hash of what each drawn fused pass gives: VKROPE_HASHES names a folder, and VKROPE_SCENES says how many
// passes (2000). A change that moves no bit leaves the files as they are. No test runs them:
//     cmake --build build --target vkrope-scene-hashes && VKROPE_HASHES=/tmp/before build/vkrope-scene-hashes
#include "support/fusion.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

class HashFile {
  public:
    explicit HashFile(const std::string& name) {
        const char* folder = std::getenv("VKROPE_HASHES");
        const char* count = std::getenv("VKROPE_SCENES");
        const char* start = std::getenv("VKROPE_FIRST_SCENE");
        if (count != nullptr) scenes = std::strtoull(count, nullptr, 10);
        if (start != nullptr) first = std::strtoull(start, nullptr, 10);
        if (folder != nullptr) file_ = std::fopen((std::string(folder) + "/" + name).c_str(), "w");
    }
    HashFile(const HashFile&) = delete;
    HashFile& operator=(const HashFile&) = delete;
    ~HashFile() {
        if (file_ != nullptr) std::fclose(file_);
    }
    void flush() { std::fflush(file_); }
    bool isOpen() const { return file_ != nullptr; }
    void write(uint64_t seed, const RopePlan& plan, const gpu::Slots& slots, uint32_t outside) {
        uint64_t hash = outside;
        for (const RopeSlot slot :
             {ROPE_SLOT_Q, ROPE_SLOT_K, ROPE_SLOT_V, ROPE_SLOT_Q_OUT, ROPE_SLOT_K_OUT, ROPE_SLOT_V_OUT}) {
            for (const uint8_t byte : slots.bytes[slot]) hash = (hash ^ byte) * 0x100000001B3u;
            hash = (hash ^ slots.bytes[slot].size()) * 0x100000001B3u;
        }
        std::fprintf(file_, "%llu %016llx %u passes, %u dispatches\n", static_cast<unsigned long long>(seed),
                     static_cast<unsigned long long>(hash), plan.pass_count, ropeDispatchCount(&plan));
    }
    void writeRefused(uint64_t seed) { std::fprintf(file_, "%llu refused\n", static_cast<unsigned long long>(seed)); }

    uint64_t first = 0, scenes = 2000; // up to this one

  private:
    std::FILE* file_ = nullptr;
};

TEST(SceneHashes, OfTheCpu) {
    HashFile file("cpu");
    ASSERT_TRUE(file.isOpen()) << "VKROPE_HASHES names no folder";
    RopeLimits large;
    ropeMinimumLimits(&large);
    large.storage_buffers = 13;
    large.enabled = ROPE_ENABLED_STORAGE_16;
    for (uint64_t seed = file.first; seed < file.scenes; ++seed) {
        fusion::Scene scene;
        fusion::draw(seed, &scene);
        RopePlan plan;
        if (ropePlanFused(&scene.d, &large, &plan) != ROPE_SUCCESS) {
            file.writeRefused(seed);
            continue;
        }
        gpu::Slots slots = fusion::makeSlots(scene, plan, seed);
        uint32_t outside = 0;
        ASSERT_TRUE(fusion::runOnCpu(scene.d, &slots, &outside)) << fusion::describe(scene);
        file.write(seed, plan, slots, scene.d.count_outside != 0 ? outside : 0); // as COUNTER has it
    }
}

class SceneHashes : public gpu::OnDevice {};

TEST_P(SceneHashes, OfADevice) {
    HashFile file(GetParam().name);
    ASSERT_TRUE(file.isOpen()) << "VKROPE_HASHES names no folder";
    uint32_t ran = 0;
    for (uint64_t seed = file.first; seed < file.scenes; ++seed) {
        fusion::Scene scene;
        fusion::draw(seed, &scene);
        RopePlan plan;
        const RopeLimits limits = fusion::limitsOf(scene, device().limits());
        if (ropePlanFused(&scene.d, &limits, &plan) != ROPE_SUCCESS) {
            file.writeRefused(seed);
            continue;
        }
        if (++ran % 50 == 0) reopenDevice();
        gpu::Slots slots = fusion::makeSlots(scene, plan, seed);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots)) << fusion::describe(scene);
        const bool counts = plan.bytes[ROPE_SLOT_COUNTER] != 0;
        file.flush();
        file.write(seed, plan, slots, counts ? slots.get<uint32_t>(ROPE_SLOT_COUNTER)[0] : 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Every, SceneHashes, testing::ValuesIn(gpu::deviceSetups()), gpu::setupName);

} // namespace
