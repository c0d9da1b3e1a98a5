#include "models/gguf/keys.hpp"

#include <cmath>

namespace rope {
namespace gguf {

const Value* ArchitectureKeys::find(const char* suffix) const {
    const auto found = header_.values.find(prefix_ + suffix);
    return found == header_.values.end() ? nullptr : &found->second;
}

bool ArchitectureKeys::number(const char* suffix, double low, double high, double* value, std::string* error) const {
    const Value* found = find(suffix);
    if (found == nullptr) return true;
    const bool numeric = found->kind == Value::Kind::number || found->kind == Value::Kind::list;
    if (!numeric || found->numbers.empty()) return refuse(error, "the key " + name(suffix) + " is no number");
    for (const double number : found->numbers) {
        if (!(number >= low && number <= high)) {
            return refuse(error, "the key " + name(suffix) + " is " + shown(number) + "; it must be from " +
                                     shown(low) + " to " + shown(high));
        }
        if (number != found->numbers[0])
            return refuse(error, "the key " + name(suffix) + " differs from layer to layer: " +
                                     shown(found->numbers[0]) + " and " + shown(number));
    }
    *value = found->numbers[0];
    return true;
}

bool ArchitectureKeys::count(const char* suffix, double high, uint32_t* value, std::string* error) const {
    double number = *value;
    if (find(suffix) == nullptr) return true;
    if (!this->number(suffix, 1, high, &number, error)) return false;
    if (number != std::floor(number))
        return refuse(error, "the key " + name(suffix) + " is " + shown(number) + "; it must be a whole number");
    *value = static_cast<uint32_t>(number);
    return true;
}

bool ArchitectureKeys::checkUnknown(std::string* error) const {
    for (const auto& entry : header_.values) {
        if (entry.first.compare(0, prefix_.size(), prefix_) != 0) continue;
        if (!isKnown(entry.first.substr(prefix_.size())))
            return refuse(error, "the key " + shown(entry.first) + " is not one that is read");
    }
    return true;
}

} // namespace gguf
} // namespace rope
