// Reads the arrays of .npz files: ZIP archives of .npy files, of which only stored ones are read. No exception leaves
// these functions; they return false and one sentence instead.
#pragma once

#include "program/files/array.hpp"
#include "program/files/input_file.hpp"
#include "program/files/npy.hpp"

#include <string>
#include <vector>

namespace rope {

struct NpzMember {
    std::string name;         // without ".npy"
    uint16_t flags = 0;       // bit 0: encrypted
    uint16_t method = 0;      // 0: stored
    uint32_t checksum = 0;    // CRC-32
    uint64_t bytes = 0;       // in the file
    uint64_t whole_bytes = 0; // when unpacked
    uint64_t offset = 0;      // of the local header
};

// Takes the sentences' path from `open`.
class NpzFile {
  public:
    bool open(const std::string& path, std::string* error);
    bool read(const NpzMember& member, NpyArray* array, std::string* error, NpyPart part = NpyPart::whole);
    const std::vector<NpzMember>& members() const { return members_; }

  private:
    bool readMember(const NpzMember& member, NpyPart part, NpyArray* array, std::string* problem);
    bool hasChecksum(uint64_t offset, const NpzMember& member, std::string* problem);

    std::string path_;
    InputFile file_;
    std::vector<NpzMember> members_;
    uint64_t directory_ = 0; // where the archive's directory begins
};

} // namespace rope
