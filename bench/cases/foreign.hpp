// Times another project's shaders: their buffers, pipelines and dispatches, as contestants. Nothing checks their
// results.
#pragma once

#include "bench/harness/buffer_copies.hpp"
#include "bench/harness/round_robin.hpp"

namespace measure {

struct ForeignBuffer {
    uint64_t bytes = 0;
    RopeElement drawn = ROPE_ELEMENT_DEFAULT; // values between -1 and 1; the default: none
    uint32_t counted = 0;                     // 0, 1, 2, ... in integers of so many bytes; 0: none
};

struct ForeignDispatch {
    std::vector<uint32_t> code;
    std::string entry;
    std::map<uint32_t, uint32_t> bindings;  // the buffer at each
    std::map<uint32_t, uint32_t> constants; // a word for each id
    std::vector<uint8_t> push;
    uint32_t groups[3] = {1, 1, 1};
};

struct Foreign {
    std::string name;
    uint64_t copied = 0;                // bytes that a copy beside it reads and writes; 0: none
    std::vector<ForeignBuffer> buffers; // at most ROPE_SLOT_COUNT
    std::vector<ForeignDispatch> dispatches;
};

// The buffers are used in turns as those of a case are. Pipelines have what checks of bounds the device has by itself.
class ForeignBench {
  public:
    explicit ForeignBench(BenchDevice* bench) : bench_(bench) {}
    ForeignBench(const ForeignBench&) = delete;
    ForeignBench& operator=(const ForeignBench&) = delete;
    ~ForeignBench();

    void make(const Foreign& foreign);                         // once
    void addContestants(std::vector<Contestant>* contestants); // they refer to this object

  private:
    struct Made {
        VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        VkShaderModule module = VK_NULL_HANDLE;
        VkPipeline pipeline = VK_NULL_HANDLE;
    };
    void makePipeline(const ForeignDispatch& dispatch, Made* made);
    void makeSets();
    void record(VkCommandBuffer commands, uint32_t set) const;

    BenchDevice* bench_;
    Foreign foreign_;
    std::vector<rope::Buffer> buffers_;
    rope::Buffer copy_source_, copy_destination_;
    std::unique_ptr<BufferCopies> copies_, copied_;
    Work work_;
    std::vector<Made> made_;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets_; // by set of buffers, then by dispatch
};

} // namespace measure
