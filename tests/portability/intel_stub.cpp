// A stub of i915, Linux' driver for Intel's GPUs, to be preloaded: Mesa's ANV finds the GPU whose PCI id
// VKROPE_INTEL_ID names (hexadecimal) and makes a device, so that its compiler can be asked. It executes nothing.
//
// VKROPE_INTEL_ROOT names a folder below which /dev/dri and the GPU's part of /sys lie as files: bench/compilers.py
// makes them. The GPU's memory is one sparse file, which the node is opened as: a buffer is a range of it, so that mmap
// needs no stub.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <drm.h>
#include <i915_drm.h>

namespace {

constexpr uint64_t kMemory = 16ull << 30;
constexpr uint32_t kMaxBuffers = 1u << 16;

struct Gpu {
    uint32_t id;
    uint16_t subslices, eus; // of the one slice
    bool has_memory;         // of its own
};
constexpr Gpu kGpus[] = {
    {0x1916, 3, 8, false},  // Skylake GT2
    {0x8a52, 8, 8, false},  // Ice Lake GT2
    {0x9a49, 6, 16, false}, // Tiger Lake GT2
    {0x56a0, 32, 16, true}, // DG2: Arc A770
    {0x7d55, 8, 16, false}, // Meteor Lake
    {0x64a0, 8, 8, false},  // Lunar Lake
    {0xe20b, 20, 8, true},  // Battlemage
};

const Gpu& gpu() {
    const char* id = getenv("VKROPE_INTEL_ID");
    for (const Gpu& known : kGpus) {
        if (id != nullptr && known.id == strtoul(id, nullptr, 16)) return known;
    }
    fprintf(stderr, "intel_stub: VKROPE_INTEL_ID names no GPU of its list\n");
    _exit(2);
}

// ---- Files

template <typename Function> Function next(Function, const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
#define NEXT(name) next(&name, #name)

bool startsWith(const char* path, const char* start) { return strncmp(path, start, strlen(start)) == 0; }

std::string placeOf(const char* path) {
    const char* root = getenv("VKROPE_INTEL_ROOT");
    const bool ours = startsWith(path, "/dev/dri") || startsWith(path, "/sys/dev/char/226:");
    return root != nullptr && ours ? std::string(root) + path : path;
}

bool isNode(const char* path) { return startsWith(path, "/dev/dri/renderD128"); }

int memory = -1;

int openNode() {
    if (memory < 0) {
        memory = memfd_create("intel_stub", MFD_CLOEXEC);
        if (memory < 0 || ftruncate(memory, 1ll << 42) != 0) abort();
    }
    return fcntl(memory, F_DUPFD_CLOEXEC, 0);
}

bool isOpenNode(int descriptor) {
    struct stat one, other;
    const auto real = NEXT(fstat);
    return memory >= 0 && real(descriptor, &one) == 0 && real(memory, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

template <typename Stat> int becomeNode(Stat* stat) {
    stat->st_mode = S_IFCHR | 0666;
    stat->st_rdev = makedev(226, 128);
    return 0;
}

// ---- What the driver asks

uint64_t memory_taken = 4096; // an offset of 0 would be no buffer's
uint64_t offsets[kMaxBuffers];
uint32_t last_handle = 0;

uint32_t createBuffer(uint64_t bytes) {
    if (++last_handle == kMaxBuffers) abort();
    offsets[last_handle] = memory_taken;
    memory_taken += (bytes + 65535) / 65536 * 65536;
    return last_handle;
}

int refuse(int error) {
    errno = error;
    return -1;
}

int getParameter(const drm_i915_getparam* asked) {
    switch (asked->param) {
    case I915_PARAM_CHIPSET_ID:
        return *asked->value = static_cast<int>(gpu().id), 0;
    case I915_PARAM_REVISION:
    case I915_PARAM_CMD_PARSER_VERSION:
        return *asked->value = 0, 0;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY:
        return *asked->value = 12000000, 0;
    case I915_PARAM_NUM_FENCES_AVAIL:
        return *asked->value = 32, 0;
    case I915_PARAM_MMAP_GTT_VERSION:
        return *asked->value = 4, 0;
    case I915_PARAM_SLICE_MASK:
        return *asked->value = 1, 0;
    case I915_PARAM_SUBSLICE_MASK:
        return *asked->value = static_cast<int>((1ull << gpu().subslices) - 1), 0;
    case I915_PARAM_EU_TOTAL:
        return *asked->value = gpu().subslices * gpu().eus, 0;
    case I915_PARAM_HAS_LLC:
        return *asked->value = !gpu().has_memory, 0;
    default:
        return *asked->value = 1, 0; // it has all that is asked for
    }
}

// Lengths are asked for first, with a length of 0.
template <typename Fill> void answer(drm_i915_query_item* item, size_t bytes, Fill fill) {
    if (item->length == 0) {
        item->length = static_cast<int32_t>(bytes);
        return;
    }
    memset(reinterpret_cast<void*>(item->data_ptr), 0, bytes);
    fill(reinterpret_cast<void*>(item->data_ptr));
}

void fillTopology(void* to) {
    auto* topology = static_cast<drm_i915_query_topology_info*>(to);
    topology->max_slices = 1;
    topology->max_subslices = gpu().subslices;
    topology->max_eus_per_subslice = gpu().eus;
    topology->subslice_offset = 1;
    topology->subslice_stride = static_cast<uint16_t>((gpu().subslices + 7) / 8);
    topology->eu_offset = static_cast<uint16_t>(1 + topology->subslice_stride);
    topology->eu_stride = static_cast<uint16_t>((gpu().eus + 7) / 8);
    topology->data[0] = 1;
    for (uint32_t i = 0; i < gpu().subslices; ++i) {
        topology->data[topology->subslice_offset + i / 8] |= static_cast<uint8_t>(1u << i % 8);
        memset(topology->data + topology->eu_offset + i * topology->eu_stride, 0xFF, topology->eu_stride);
    }
}

void fillRegions(void* to) {
    auto* found = static_cast<drm_i915_query_memory_regions*>(to);
    found->num_regions = gpu().has_memory ? 2 : 1;
    for (uint32_t i = 0; i < found->num_regions; ++i) {
        drm_i915_memory_region_info& region = found->regions[i];
        region.region.memory_class =
            static_cast<uint16_t>(i == 0 ? I915_MEMORY_CLASS_SYSTEM : I915_MEMORY_CLASS_DEVICE);
        region.probed_size = region.unallocated_size = kMemory;
        region.probed_cpu_visible_size = region.unallocated_cpu_visible_size = kMemory;
    }
}

void fillEngines(void* to) {
    auto* found = static_cast<drm_i915_query_engine_info*>(to);
    found->num_engines = 1;
    found->engines[0].engine.engine_class = I915_ENGINE_CLASS_RENDER;
}

int query(const drm_i915_query* asked) {
    auto* items = reinterpret_cast<drm_i915_query_item*>(asked->items_ptr);
    for (uint32_t i = 0; i < asked->num_items; ++i) {
        switch (items[i].query_id) {
        case DRM_I915_QUERY_TOPOLOGY_INFO:
        case DRM_I915_QUERY_GEOMETRY_SUBSLICES:
            answer(&items[i], sizeof(drm_i915_query_topology_info) + 256, fillTopology);
            break;
        case DRM_I915_QUERY_MEMORY_REGIONS:
            answer(&items[i], sizeof(drm_i915_query_memory_regions) + 2 * sizeof(drm_i915_memory_region_info),
                   fillRegions);
            break;
        case DRM_I915_QUERY_ENGINE_INFO:
            answer(&items[i], sizeof(drm_i915_query_engine_info) + sizeof(drm_i915_engine_info), fillEngines);
            break;
        default:
            items[i].length = -EINVAL;
        }
    }
    return 0;
}

int fillVersion(drm_version* version) {
    version->version_major = 1;
    version->version_minor = 6;
    const std::string name = "i915";
    if (version->name != nullptr) memcpy(version->name, name.data(), version->name_len < 4 ? version->name_len : 4);
    version->name_len = name.size();
    version->date_len = version->desc_len = 0;
    return 0;
}

int contextParameter(drm_i915_gem_context_param* asked) {
    if (asked->param == I915_CONTEXT_PARAM_GTT_SIZE) {
        asked->value = 1ull << 48;
    } else if (asked->param == I915_CONTEXT_PARAM_VM) {
        asked->value = 1;
    } else {
        asked->value = 0;
    }
    return 0;
}

int control(unsigned long request, void* argument) {
    switch (request) {
    case DRM_IOCTL_VERSION:
        return fillVersion(static_cast<drm_version*>(argument));
    case DRM_IOCTL_GET_CAP:
        return static_cast<drm_get_cap*>(argument)->value = 1, 0;
    case DRM_IOCTL_I915_GETPARAM:
        return getParameter(static_cast<drm_i915_getparam*>(argument));
    case DRM_IOCTL_I915_QUERY:
        return query(static_cast<drm_i915_query*>(argument));
    case DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM:
        return contextParameter(static_cast<drm_i915_gem_context_param*>(argument));
    case DRM_IOCTL_I915_GEM_CREATE: {
        auto* create = static_cast<drm_i915_gem_create*>(argument);
        return create->handle = createBuffer(create->size), 0;
    }
    case DRM_IOCTL_I915_GEM_CREATE_EXT: {
        auto* create = static_cast<drm_i915_gem_create_ext*>(argument);
        return create->handle = createBuffer(create->size), 0;
    }
    case DRM_IOCTL_I915_GEM_USERPTR:
        return static_cast<drm_i915_gem_userptr*>(argument)->handle = createBuffer(0), 0;
    case DRM_IOCTL_I915_GEM_MMAP_OFFSET: {
        auto* map = static_cast<drm_i915_gem_mmap_offset*>(argument);
        return map->offset = offsets[map->handle], 0;
    }
    case DRM_IOCTL_I915_GEM_GET_APERTURE: {
        auto* aperture = static_cast<drm_i915_gem_get_aperture*>(argument);
        return aperture->aper_size = aperture->aper_available_size = kMemory, 0;
    }
    case DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT:
        return static_cast<drm_i915_gem_context_create_ext*>(argument)->ctx_id = 1, 0;
    case DRM_IOCTL_I915_GEM_VM_CREATE:
        return static_cast<drm_i915_gem_vm_control*>(argument)->vm_id = 1, 0;
    case DRM_IOCTL_SYNCOBJ_CREATE:
        return static_cast<drm_syncobj_create*>(argument)->handle = 1, 0;
    case DRM_IOCTL_I915_REG_READ:
    case DRM_IOCTL_I915_GEM_MMAP:
        return refuse(EINVAL);
    default:
        return 0; // all else succeeds, and does nothing
    }
}

} // namespace

// ---- The C library's functions that ANV and libdrm take

extern "C" {

int ioctl(int descriptor, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    if (_IOC_TYPE(request) == DRM_IOCTL_BASE && isOpenNode(descriptor)) return control(request, argument);
    return NEXT(ioctl)(descriptor, request, argument);
}

#define STUB_OPEN(name)                                                                                                \
    int name(const char* path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const mode_t mode = va_arg(rest, mode_t);                                                                      \
        va_end(rest);                                                                                                  \
        return isNode(path) ? openNode() : NEXT(name)(placeOf(path).c_str(), flags, mode);                             \
    }
STUB_OPEN(open)
STUB_OPEN(open64)

#define STUB_STAT(name, stat)                                                                                          \
    int name(const char* path, struct stat* to) {                                                                      \
        return isNode(path) ? becomeNode(to) : NEXT(name)(placeOf(path).c_str(), to);                                  \
    }
STUB_STAT(stat, stat)
STUB_STAT(stat64, stat64)

#define STUB_FSTAT(name, stat)                                                                                         \
    int name(int descriptor, struct stat* to) {                                                                        \
        return isOpenNode(descriptor) ? becomeNode(to) : NEXT(name)(descriptor, to);                                   \
    }
STUB_FSTAT(fstat, stat)
STUB_FSTAT(fstat64, stat64)

FILE* fopen(const char* path, const char* mode) { return NEXT(fopen)(placeOf(path).c_str(), mode); }
FILE* fopen64(const char* path, const char* mode) { return NEXT(fopen64)(placeOf(path).c_str(), mode); }
DIR* opendir(const char* path) { return NEXT(opendir)(placeOf(path).c_str()); }
int access(const char* path, int mode) { return NEXT(access)(placeOf(path).c_str(), mode); }
ssize_t readlink(const char* path, char* to, size_t bytes) { return NEXT(readlink)(placeOf(path).c_str(), to, bytes); }
char* realpath(const char* path, char* to) { return NEXT(realpath)(placeOf(path).c_str(), to); }
char* __realpath_chk(const char* path, char* to, size_t) { return realpath(path, to); }
}
