// This file names objects for the host's debugging tools, if the host enabled VK_EXT_debug_utils.
#include "record/labels.h"

namespace rope {
namespace {

// A name that is too long is cut.
struct DebugName {
    char text[48] = "vkrope ";
    explicit DebugName(const char* what) {
        for (char* to = text + 7; *what != 0 && to < text + sizeof text - 1; ++to) *to = *what++;
    }
};

} // namespace

void nameObject(const RopeContext& context, VkObjectType type, uint64_t handle, const char* what) {
    if (context.vk.SetDebugUtilsObjectNameEXT == nullptr) return;
    const DebugName name(what);
    const VkDebugUtilsObjectNameInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, nullptr, type,
                                                handle, name.text};
    context.vk.SetDebugUtilsObjectNameEXT(context.device, &info);
}

void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* what) {
    if (context.vk.CmdBeginDebugUtilsLabelEXT == nullptr || context.vk.CmdEndDebugUtilsLabelEXT == nullptr) return;
    if (what == nullptr) return context.vk.CmdEndDebugUtilsLabelEXT(command_buffer);
    const DebugName name(what);
    const VkDebugUtilsLabelEXT label = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, name.text, {}};
    context.vk.CmdBeginDebugUtilsLabelEXT(command_buffer, &label);
}

} // namespace rope
