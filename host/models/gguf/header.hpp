// A .gguf file's header: its keys and tensors, read piece by piece, and the tensors of factors. Programs call gguf.hpp;
// this part knows the file's format and nothing about models.
#pragma once

#include "models/gguf/gguf.hpp"
#include "models/words.hpp"

#include <map>
#include <string>
#include <vector>

namespace rope {
namespace gguf {

// A text or a number as a sentence may contain it. A text is cut after 64 bytes, and has '?' for bytes beyond ASCII.
std::string shown(const std::string& text);
std::string shown(double number);

// Reads the source in order, through a window of 64 KiB.
class Cursor {
  public:
    explicit Cursor(const GgufSource& source);

    uint64_t at() const { return at_; }
    uint64_t left() const { return source_.size - at_; }
    void skip(uint64_t count);
    void take(size_t count, uint8_t* to);
    std::string text(size_t most); // a text of more bytes is skipped, and empty

    template <typename T> T number() {
        uint8_t bytes[sizeof(T)];
        take(sizeof(T), bytes);
        T value = 0;
        for (size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(uint64_t{value} << 8 | bytes[i]);
        return value;
    }

    // Reads from anywhere in the file, and leaves the window as it is.
    void readAt(uint64_t offset, size_t count, uint8_t* to);

  private:
    const GgufSource& source_;
    std::vector<uint8_t> window_;
    uint64_t window_at_ = 0;
    size_t filled_ = 0;
    uint64_t at_ = 0;
};

struct Value {
    enum class Kind { number, text, list, unread } kind = Kind::unread;
    std::vector<double> numbers; // the list's numbers, or the one number
    std::string text;
};

struct FactorTensor {
    std::string name;
    uint32_t dims = 0;
    uint64_t count = 0;
    uint32_t type = 0;
    uint64_t offset = 0; // bytes from the beginning of the tensors' data
};

struct Header {
    std::map<std::string, Value> values; // of the keys that are read, and of all others about rotation
    std::vector<FactorTensor> factors;
    uint64_t alignment = 32;
    uint64_t data = 0; // bytes before the tensors' data
};

Header readHeader(Cursor* file);

// Empty where the file has no tensor of that name. Blocks may each have one, but all must be equal.
std::vector<double> readFactorTensors(Cursor* file, const Header& header, const char* name, uint32_t pairs);

// The keys of one architecture. A key is named by what follows the architecture and a dot.
class ArchitectureKeys {
  public:
    ArchitectureKeys(const Header& header, const std::string& architecture)
        : header_(header), prefix_(architecture + ".") {}

    const Value* find(const char* suffix) const; // null where the key is absent

    // The whole key in quotes, for a sentence.
    std::string name(const char* suffix) const { return "'" + prefix_ + suffix + "'"; }

    // Begins the sentence with the key.
    [[noreturn]] void refuse(const char* suffix, const std::string& what) const;

    // A list must have the same number for each layer. Where the key is absent the last argument is returned.
    double number(const char* suffix, double low, double high, double otherwise) const;
    uint32_t count(const char* suffix, double high, uint32_t otherwise) const; // a whole number from 1 on

    // Returns a list that must have an entry for each layer; null: there is none.
    const Value* list(const char* suffix, size_t layers) const;

    // Refuses the first key about rotation that is not read.
    void checkUnknown() const;

  private:
    const Header& header_;
    std::string prefix_;
};

} // namespace gguf
} // namespace rope
