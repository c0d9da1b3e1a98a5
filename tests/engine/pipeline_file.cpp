#include "pipeline_file.hpp"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace engine {
namespace {

// Drivers check their own header, few of them the rest: the sum keeps a damaged file from their parsers.
struct Header {
    char magic[8];
    uint32_t vendor, device, driver;
    uint8_t driver_cache[VK_UUID_SIZE];
    uint32_t reserved;
    uint64_t bytes;
    uint64_t sum;
};

uint64_t sumOf(const std::vector<char>& data) {
    uint64_t sum = 0xCBF29CE484222325u; // FNV-1a
    for (char byte : data) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
    return sum;
}

Header headerOf(const Gpu& gpu, const std::vector<char>& data) {
    Header header = {};
    std::memcpy(header.magic, "engine 1", sizeof header.magic);
    header.vendor = gpu.properties.vendorID;
    header.device = gpu.properties.deviceID;
    header.driver = gpu.properties.driverVersion;
    std::memcpy(header.driver_cache, gpu.properties.pipelineCacheUUID, VK_UUID_SIZE);
    header.bytes = data.size();
    header.sum = sumOf(data);
    return header;
}

std::vector<char> readWhole(const std::string& path) {
    std::vector<char> data;
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return data;
    char piece[4096];
    for (size_t got; (got = std::fread(piece, 1, sizeof piece, file)) > 0;) data.insert(data.end(), piece, piece + got);
    std::fclose(file);
    return data;
}

// Returns the file's data if it is of this device and driver, else nothing.
std::vector<char> readData(const Gpu& gpu, const std::string& path) {
    const std::vector<char> file = readWhole(path);
    if (file.size() < sizeof(Header)) return {};
    std::vector<char> data(file.begin() + sizeof(Header), file.end());
    const Header wanted = headerOf(gpu, data);
    return std::memcmp(file.data(), &wanted, sizeof wanted) == 0 ? data : std::vector<char>();
}

bool writeWhole(const std::string& path, const Header& header, const std::vector<char>& data) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return false;
    bool good = std::fwrite(&header, sizeof header, 1, file) == 1 &&
                std::fwrite(data.data(), 1, data.size(), file) == data.size() && std::fflush(file) == 0 &&
                fsync(fileno(file)) == 0;
    good = std::fclose(file) == 0 && good;
    return good;
}

} // namespace

PipelineFile::PipelineFile(const Gpu& gpu, const std::string& path) : gpu_(gpu), path_(path) {
    const std::vector<char> data = path.empty() ? std::vector<char>() : readData(gpu, path);
    VkPipelineCacheCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    bytes_read_ = data.size();
    if (vkCreatePipelineCache(gpu.device, &info, nullptr, &cache_) == VK_SUCCESS) return;
    info.initialDataSize = bytes_read_ = 0;
    require(vkCreatePipelineCache(gpu.device, &info, nullptr, &cache_), "vkCreatePipelineCache");
}

PipelineFile::~PipelineFile() { vkDestroyPipelineCache(gpu_.device, cache_, nullptr); }

bool PipelineFile::write() const {
    if (path_.empty()) return true;
    size_t size = 0;
    if (vkGetPipelineCacheData(gpu_.device, cache_, &size, nullptr) != VK_SUCCESS) return false;
    std::vector<char> data(size);
    if (vkGetPipelineCacheData(gpu_.device, cache_, &size, data.data()) != VK_SUCCESS) return false;
    data.resize(size);
    const std::string half_made = path_ + "." + std::to_string(getpid());
    if (writeWhole(half_made, headerOf(gpu_, data), data) && std::rename(half_made.c_str(), path_.c_str()) == 0) {
        return true;
    }
    std::remove(half_made.c_str());
    return false;
}

} // namespace engine
