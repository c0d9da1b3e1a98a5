// Names for the host's debugging tools, where it enabled VK_EXT_debug_utils.
#include "record/context.h"

namespace rope {
namespace {

// What is too long is cut.
struct Name {
    char text[48] = "vkrope ";
    explicit Name(const char* of) {
        for (char* to = text + 7; *of != 0 && to < text + sizeof text - 1; ++to) *to = *of++;
    }
};

} // namespace

void nameObject(const RopeContext& context, VkObjectType type, uint64_t handle, const char* of) {
    if (context.vk.SetDebugUtilsObjectNameEXT == nullptr) return;
    const Name name(of);
    const VkDebugUtilsObjectNameInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, nullptr, type,
                                                handle, name.text};
    context.vk.SetDebugUtilsObjectNameEXT(context.device, &info);
}

void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* of) {
    if (context.vk.CmdBeginDebugUtilsLabelEXT == nullptr || context.vk.CmdEndDebugUtilsLabelEXT == nullptr) return;
    if (of == nullptr) return context.vk.CmdEndDebugUtilsLabelEXT(command_buffer);
    const Name name(of);
    const VkDebugUtilsLabelEXT label = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, name.text, {}};
    context.vk.CmdBeginDebugUtilsLabelEXT(command_buffer, &label);
}

} // namespace rope
