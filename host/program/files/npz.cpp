#include "program/files/npz.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace rope {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kLocalMark = 0x04034B50, kEntryMark = 0x02014B50, kEndMark = 0x06054B50;
constexpr uint32_t kEnd64Mark = 0x06064B50, kLocator64Mark = 0x07064B50;
constexpr uint64_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kMaxComment = 65535;
constexpr uint64_t kMaxDirectoryBytes = 1 << 26; // half a million members
constexpr uint32_t kIn64 = 0xFFFFFFFF;           // the number stands in the field for 64 bits
constexpr uint16_t kIn64Field = 1;
constexpr uint16_t kEncrypted = 1;

bool refuseZip(const std::string& sentence, std::string* problem) {
    *problem = sentence;
    return false;
}

uint64_t numberAt(const uint8_t* at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{at[i]} << (8 * i);
    return value;
}
uint16_t word16(const uint8_t* at) { return static_cast<uint16_t>(numberAt(at, 2)); }
uint32_t word32(const uint8_t* at) { return static_cast<uint32_t>(numberAt(at, 4)); }

struct Directory {
    uint64_t offset = 0, bytes = 0, end = 0; // `end`: where the records behind it begin
};

// Archives of more than 4 GiB have a second end before the first.
bool findEnd64(InputFile* file, uint64_t end, Directory* directory, std::string* problem) {
    uint8_t locator[kLocator64Bytes], record[kEnd64Bytes];
    if (end < kLocator64Bytes) return refuseZip("its directory is of 64 bits, and nothing says where it lies", problem);
    if (!file->read(end - kLocator64Bytes, locator, sizeof locator, problem)) return false;
    const uint64_t at = numberAt(locator + 8, 8);
    if (word32(locator) != kLocator64Mark || at > end - kLocator64Bytes || end - kLocator64Bytes - at < kEnd64Bytes)
        return refuseZip("its directory is of 64 bits, and nothing says where it lies", problem);
    if (!file->read(at, record, sizeof record, problem)) return false;
    if (word32(record) != kEnd64Mark)
        return refuseZip("its directory is of 64 bits, and is not where it should be", problem);
    *directory = {numberAt(record + 48, 8), numberAt(record + 40, 8), at};
    return true;
}

// The end of the directory is the file's end, but for a comment.
bool findDirectory(InputFile* file, Directory* directory, std::string* problem) {
    Bytes tail(static_cast<size_t>(std::min(file->size(), kEndBytes + kMaxComment)));
    const uint64_t tail_offset = file->size() - tail.size();
    if (!file->read(tail_offset, tail.data(), tail.size(), problem)) return false;
    for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
        const uint8_t* record = &tail[at];
        if (word32(record) != kEndMark || at + kEndBytes + word16(record + 20) != tail.size()) continue;
        const uint64_t end = tail_offset + at;
        *directory = {word32(record + 16), word32(record + 12), end};
        const bool in_64 = directory->offset == kIn64 || directory->bytes == kIn64;
        if (in_64 && !findEnd64(file, end, directory, problem)) return false;
        if (directory->bytes <= directory->end && directory->offset <= directory->end - directory->bytes) return true;
        return refuseZip("its directory would end behind the file's end", problem);
    }
    return refuseZip("this is no .npz file, or its end is missing", problem);
}

// Takes from the field for 64 bits, in this order, what did not fit.
bool readField64(const uint8_t* extra, size_t size, NpzMember* member) {
    uint64_t* const numbers[] = {&member->whole_bytes, &member->bytes, &member->offset};
    const uint8_t* from = nullptr;
    size_t left = 0;
    for (size_t at = 0; at + 4 <= size; at += 4 + size_t{word16(extra + at + 2)}) {
        left = word16(extra + at + 2);
        if (left > size - at - 4) return false;
        if (word16(extra + at) == kIn64Field) {
            from = extra + at + 4;
            break;
        }
    }
    for (uint64_t* number : numbers) {
        if (*number != kIn64) continue;
        if (from == nullptr || left < 8) return false;
        *number = numberAt(from, 8);
        from += 8;
        left -= 8;
    }
    return true;
}

bool readEntries(const Bytes& directory, std::vector<NpzMember>* members, std::string* problem) {
    for (size_t at = 0; at < directory.size();) {
        const uint8_t* entry = &directory[at];
        const size_t left = directory.size() - at;
        if (left < kEntryBytes || word32(entry) != kEntryMark)
            return refuseZip("its directory is broken behind " + std::to_string(members->size()) + " members", problem);
        const size_t name = word16(entry + 28), extra = word16(entry + 30), comment = word16(entry + 32);
        if (left - kEntryBytes < name + extra + comment)
            return refuseZip("its directory is broken behind " + std::to_string(members->size()) + " members", problem);
        NpzMember member;
        member.name.assign(reinterpret_cast<const char*>(entry) + kEntryBytes, name);
        member.flags = word16(entry + 8);
        member.method = word16(entry + 10);
        member.checksum = word32(entry + 16);
        member.bytes = word32(entry + 20);
        member.whole_bytes = word32(entry + 24);
        member.offset = word32(entry + 42);
        if (!readField64(entry + kEntryBytes + name, extra, &member))
            return refuseZip("its member " + quotedText(member.name, 96) + " has no size in its directory", problem);
        at += kEntryBytes + name + extra + comment;
        if (member.name.size() > 4 && member.name.compare(member.name.size() - 4, 4, ".npy") == 0)
            member.name.resize(member.name.size() - 4);
        members->push_back(member);
    }
    return true;
}

bool checkNames(const std::vector<NpzMember>& members, std::string* problem) {
    std::vector<const std::string*> names;
    for (const NpzMember& member : members) names.push_back(&member.name);
    const std::string* twice = findTwice(&names);
    return twice == nullptr || refuseZip("it has the array " + quotedText(*twice, 96) + " twice", problem);
}

std::array<uint32_t, 256> checksumTable() {
    std::array<uint32_t, 256> table = {};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320 : 0);
        table[i] = value;
    }
    return table;
}

} // namespace

bool NpzFile::hasChecksum(uint64_t offset, const NpzMember& member, std::string* problem) {
    static const std::array<uint32_t, 256> table = checksumTable();
    Bytes part(static_cast<size_t>(std::min<uint64_t>(member.bytes, 1 << 20)));
    uint32_t sum = ~uint32_t{0};
    for (uint64_t done = 0; done < member.bytes; done += part.size()) {
        part.resize(static_cast<size_t>(std::min<uint64_t>(part.size(), member.bytes - done)));
        if (!file_.read(offset + done, part.data(), part.size(), problem)) return false;
        for (const uint8_t byte : part) sum = sum >> 8 ^ table[(sum ^ byte) & 255];
    }
    return ~sum == member.checksum || refuseZip("its bytes do not give its checksum", problem);
}

// The directory says how much there is: a local header may have left that to what follows the data.
bool NpzFile::readMember(const NpzMember& member, NpyPart part, NpyArray* array, std::string* problem) {
    if ((member.flags & kEncrypted) != 0) return refuseZip("it is encrypted", problem);
    if (member.method != 0) {
        return refuseZip("it is compressed; numpy.savez writes it without compression, savez_compressed does not",
                         problem);
    }
    uint8_t local[kLocalBytes];
    if (member.offset > directory_ || directory_ - member.offset < kLocalBytes)
        return refuseZip("it would begin behind the archive's directory", problem);
    if (!file_.read(member.offset, local, sizeof local, problem)) return false;
    if (word32(local) != kLocalMark) return refuseZip("it is not where the directory says", problem);
    const uint64_t offset = member.offset + kLocalBytes + word16(local + 26) + word16(local + 28);
    if (offset > directory_ || member.bytes > directory_ - offset) {
        return refuseZip("it would take " + std::to_string(member.bytes) + " bytes from byte " +
                             std::to_string(offset) + " on, and the archive's directory begins at byte " +
                             std::to_string(directory_),
                         problem);
    }
    if (member.bytes != member.whole_bytes) {
        return refuseZip("it has " + std::to_string(member.bytes) + " bytes without compression, and would have " +
                             std::to_string(member.whole_bytes) + " unpacked",
                         problem);
    }
    return readNpyAt(&file_, offset, member.bytes, part, array, problem) &&
           (part == NpyPart::header || hasChecksum(offset, member, problem));
}

bool NpzFile::open(const std::string& path, std::string* error) {
    std::string problem;
    path_ = path;
    try {
        Directory directory;
        if (!file_.open(path, &problem) || !findDirectory(&file_, &directory, &problem))
            return refuseFile(path, problem, error);
        if (directory.bytes > kMaxDirectoryBytes) {
            return refuseFile(path,
                              "its directory would be of " + std::to_string(directory.bytes) + " bytes, and at most " +
                                  std::to_string(kMaxDirectoryBytes) + " are read",
                              error);
        }
        Bytes bytes(static_cast<size_t>(directory.bytes));
        directory_ = directory.offset;
        if (file_.read(directory.offset, bytes.data(), bytes.size(), &problem) &&
            readEntries(bytes, &members_, &problem) && checkNames(members_, &problem))
            return true;
    } catch (const std::exception& e) {
        problem = e.what();
    }
    return refuseFile(path, problem, error);
}

bool NpzFile::read(const NpzMember& member, NpyArray* array, std::string* error, NpyPart part) {
    std::string problem;
    try {
        if (readMember(member, part, array, &problem)) return true;
    } catch (const std::exception&) { // bad_alloc or length_error
        problem = "there is not enough memory for the array";
    }
    return refuseFile(path_, "the member " + quotedText(member.name, 96) + ": " + problem, error);
}

} // namespace rope
