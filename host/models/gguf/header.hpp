// A .gguf file's header: its keys and tensors, read piece by piece, and the tensors of factors. Programs call gguf.hpp;
// this part knows the file's format and nothing about models.
#pragma once

#include "models/gguf/gguf.hpp"
#include "models/refusal.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace rope {
namespace gguf {

constexpr uint64_t kMaxHeader = 512ull << 20; // bytes; the largest tokenizers take a tenth of it

// `names` has a space before and after each name.
bool isIn(const char* names, const std::string& name);

// A text or a number as a sentence may contain it. A text is cut after 64 bytes, and has '?' for bytes beyond ASCII.
std::string shown(const std::string& text);
std::string shown(double number);

// Reads the source in order, through a window of 64 KiB. After a failure problem() has the sentence, and nothing more
// is read.
class Cursor {
  public:
    explicit Cursor(const GgufSource& source)
        : source_(source), window_(static_cast<size_t>(std::min<uint64_t>(source.size, 1 << 16))) {}

    uint64_t at() const { return at_; }
    uint64_t left() const { return source_.size - at_; }
    const std::string& problem() const { return problem_; }

    bool fail(const std::string& sentence) {
        if (problem_.empty()) problem_ = sentence;
        return false;
    }

    bool skip(uint64_t count) {
        if (count > left()) return fail("the file ends within its header");
        at_ += count;
        if (at_ > kMaxHeader) return fail("the header is longer than " + std::to_string(kMaxHeader) + " bytes");
        return true;
    }

    bool take(size_t count, uint8_t* to) {
        if (!problem_.empty()) return false;
        const uint64_t from = at_;
        if (!skip(count)) return false;
        while (count != 0) {
            const uint64_t begin = at_ - count;
            if (begin < window_at_ || begin >= window_at_ + filled_) {
                if (!fill(begin)) return false;
            }
            const size_t offset = static_cast<size_t>(begin - window_at_);
            const size_t piece = std::min(count, filled_ - offset);
            std::memcpy(to + (begin - from), &window_[offset], piece);
            count -= piece;
        }
        return true;
    }

    template <typename T> bool number(T* value) {
        uint8_t bytes[sizeof(T)];
        if (!take(sizeof(T), bytes)) return false;
        *value = 0;
        for (size_t i = sizeof(T); i-- > 0;) *value = static_cast<T>(uint64_t{*value} << 8 | bytes[i]);
        return true;
    }

    // A text of more than `most` bytes is skipped, and leaves *text empty.
    bool text(size_t most, std::string* text) {
        uint64_t length = 0;
        text->clear();
        if (!number(&length)) return false;
        if (length > left()) {
            return fail("the header has a text of " + std::to_string(length) + " bytes, and the file has " +
                        std::to_string(left()) + " more");
        }
        if (length > most) return skip(length);
        text->resize(static_cast<size_t>(length));
        return length == 0 || take(text->size(), reinterpret_cast<uint8_t*>(&(*text)[0]));
    }

    // Reads from anywhere in the file, and leaves the window as it is.
    bool readAt(uint64_t offset, size_t count, uint8_t* to) {
        return source_.read(offset, count, to) || fail("it cannot be read at byte " + std::to_string(offset));
    }

  private:
    bool fill(uint64_t begin) {
        const size_t count = static_cast<size_t>(std::min<uint64_t>(window_.size(), source_.size - begin));
        filled_ = 0;
        if (!readAt(begin, count, window_.data())) return false;
        window_at_ = begin;
        filled_ = count;
        return true;
    }

    const GgufSource& source_;
    std::vector<uint8_t> window_;
    uint64_t window_at_ = 0;
    size_t filled_ = 0;
    uint64_t at_ = 0;
    std::string problem_;
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

// A suffix is a key's name after the architecture and a dot.
bool isKnown(const std::string& suffix);

bool readHeader(Cursor* file, Header* header);

// Leaves *factors empty where the file has no tensor of that name. Blocks may each have one, but all must be equal.
bool readFactorTensors(Cursor* file, const Header& header, const char* name, uint32_t pairs,
                       std::vector<double>* factors, std::string* error);

} // namespace gguf
} // namespace rope
