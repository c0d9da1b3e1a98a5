// A list that a call of Vulkan first counts, and then writes.
#pragma once

#include <vkrope/rope.h>

#include <vector>

namespace rope {
inline namespace ROPE_NAMESPACE {

// The list may have become longer between the two calls.
template <typename Element, typename List> VkResult listAll(std::vector<Element>* all, List list) {
    uint32_t count = 0;
    VkResult result = list(&count, nullptr);
    all->resize(result == VK_SUCCESS ? count : 0);
    if (result == VK_SUCCESS && count != 0) result = list(&count, all->data());
    if (result == VK_INCOMPLETE) result = VK_SUCCESS;
    all->resize(result == VK_SUCCESS ? count : 0);
    return result;
}

} // namespace ROPE_NAMESPACE
} // namespace rope
