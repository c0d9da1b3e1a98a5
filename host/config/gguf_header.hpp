// A .gguf file's header: its keys and tensors, read piece by piece, and the tensors of factors. gguf.hpp is what
// programs call; this is its part that knows the file and nothing of models.
#pragma once

#include "config/gguf.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace rope {
namespace gguf {

constexpr uint64_t kMaxHeader = 512ull << 20; // bytes; the largest tokenizers take a tenth of it

// Writes the sentence and returns false.
bool refuse(std::string* error, const std::string& text);

bool isIn(const char* names, const std::string& name); // in a list with a blank on either side of each

// What is fit to stand in a sentence.
std::string shown(const std::string& text);
std::string shown(double number);

// Goes through the source by a window. After a failure `problem` has its sentence, and nothing more is read.
class Cursor {
  public:
    explicit Cursor(const GgufSource& source)
        : source_(source), window_(static_cast<size_t>(std::min<uint64_t>(source.size, 1 << 16))) {}

    uint64_t at() const { return at_; }
    uint64_t left() const { return source_.size - at_; }
    const std::string& problem() const { return problem_; }

    bool refuse(const std::string& sentence) {
        if (problem_.empty()) problem_ = sentence;
        return false;
    }

    bool skip(uint64_t count) {
        if (count > left()) return refuse("the file ends within its header");
        at_ += count;
        if (at_ > kMaxHeader) return refuse("the header is longer than " + std::to_string(kMaxHeader) + " bytes");
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

    // A longer text than `most` bytes is passed over, and leaves *text empty.
    bool text(size_t most, std::string* text) {
        uint64_t length = 0;
        text->clear();
        if (!number(&length)) return false;
        if (length > left()) {
            return refuse("the header has a text of " + std::to_string(length) + " bytes, and the file has " +
                          std::to_string(left()) + " more");
        }
        if (length > most) return skip(length);
        text->resize(static_cast<size_t>(length));
        return length == 0 || take(text->size(), reinterpret_cast<uint8_t*>(&(*text)[0]));
    }

    // From anywhere in the file, beside the window.
    bool readAt(uint64_t offset, size_t count, uint8_t* to) {
        return source_.read(offset, count, to) || refuse("it cannot be read at byte " + std::to_string(offset));
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
    std::vector<double> numbers; // one, or a list's
    std::string text;
};

struct FactorTensor {
    std::string name;
    uint32_t dims = 0;
    uint64_t count = 0;
    uint32_t type = 0;
    uint64_t offset = 0; // bytes, from where the tensors' data begins
};

struct Header {
    std::map<std::string, Value> values; // of the keys that isKept knows
    std::vector<FactorTensor> factors;
    uint64_t alignment = 32;
    uint64_t data = 0; // bytes before the tensors' data
};

bool isKnown(const std::string& suffix); // a key's name behind its architecture's

bool readHeader(Cursor* file, Header* header);

// Leaves *factors empty where the file has none of that name. Blocks may each have them, and then the same.
bool readFactorTensors(Cursor* file, const Header& header, const char* name, uint32_t pairs,
                       std::vector<double>* factors, std::string* error);

} // namespace gguf
} // namespace rope
