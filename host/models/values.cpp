#include "models/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

namespace rope {
namespace config {
namespace {

constexpr size_t kMaxDepth = 32;       // values are copied, compared and printed by recursion
constexpr size_t kMaxValues = 1 << 18; // lists of 20 000 labels go by

// A number that Python's json writes and JSON does not have, and a text of as many bytes, which no number may be.
constexpr const char* kPythonsNumbers[][2] = {
    {"-Infinity", "\"-inf\"   "}, {"Infinity", "\"inf\"   "}, {"NaN", "\"?\""}};

// Such a number ends where a value may end.
std::string withoutPythonsNumbers(std::string text) {
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (quoted && text[i] == '\\') ++i;
        for (const auto& number : kPythonsNumbers) {
            const size_t length = std::strlen(number[0]);
            if (quoted || text.compare(i, length, number[0]) != 0) continue;
            const size_t next = text.find_first_not_of(" \t\n\r", i + length);
            if (next != text.npos && std::strchr(",]}", text[next]) == nullptr) break;
            text.replace(i, length, number[1]);
            i += length - 1;
            break;
        }
    }
    return text;
}

// Counts values and finds keys that are there twice, as the library's parser comes upon them. It keeps no value: the
// parser would go through an object that it keeps again for each object within it.
class Check {
  public:
    // Returns whether the parser keeps the key, or the list or object that begins, until that ends.
    bool operator()(int, Json::parse_event_t event, const Json& value) {
        using Event = Json::parse_event_t;
        if (event == Event::key) {
            if (!open_.back().insert(value.get_ref<const std::string&>()).second)
                refuse("the configuration has the key " + shown(value) + " twice; it must be there once");
            return true;
        }
        if (event == Event::object_end || event == Event::array_end) {
            open_.pop_back();
            return false;
        }
        if (open_.size() > kMaxDepth)
            refuse("the configuration is nested deeper than " + std::to_string(kMaxDepth) + " levels");
        if (++values_ > kMaxValues) refuse("the configuration has more than " + std::to_string(kMaxValues) + " values");
        const bool begins = event != Event::value;
        if (begins) open_.emplace_back();
        return begins;
    }

  private:
    std::vector<std::set<std::string>> open_; // the keys of each object that is open; a list has none
    size_t values_ = 0;
};

} // namespace

Json parseConfig(const std::string& given) {
    const std::string text = withoutPythonsNumbers(given);
    const size_t zero = text.find('\0'); // the library takes it for the end
    if (zero != text.npos) refuse("the configuration is not JSON: byte " + std::to_string(zero) + " is a zero");
    try {
        Check check;
        Json::parse(text, std::ref(check), false);
        Json config = Json::parse(text);
        if (!config.is_object()) refuse("the configuration is " + shown(config) + "; it must be an object in braces");
        return config;
    } catch (const Json::exception& exception) {
        const auto* at = dynamic_cast<const Json::parse_error*>(&exception);
        if (text.empty() || (at != nullptr && at->byte > text.size()))
            refuse("the configuration is not whole: its JSON ends after " + std::to_string(text.size()) + " bytes");
        const std::string what = exception.what();
        const size_t after = what.find("] "); // the library's own name of the error ends here
        refuse("the configuration is not JSON: " + (after == what.npos ? what : what.substr(after + 2)));
    }
}

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 48) text = text.substr(0, 45) + "...";
    return text;
}

bool isOff(const Json& value) { return value.is_null() || value == false; }

const Json* findKey(const Json& object, const char* key, JsonKind kind) {
    static const char* const kNames[] = {"a value",
                                         "a number",
                                         "a name in quotes",
                                         "true or false",
                                         "an object in braces",
                                         "a list of numbers",
                                         "a list of 1 and 0, one per layer",
                                         "a list of names in quotes"};
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return nullptr;
    const auto fits = [kind](const Json& value) {
        switch (kind) {
        case JsonKind::any:
            return true;
        case JsonKind::number:
        case JsonKind::numbers:
            return value.is_number();
        case JsonKind::text:
        case JsonKind::texts:
            return value.is_string();
        case JsonKind::boolean:
            return value.is_boolean();
        case JsonKind::object:
            return value.is_object();
        case JsonKind::booleans:
            return value.is_boolean() || value == 0 || value == 1;
        }
        return false;
    };
    const bool is_list = kind == JsonKind::numbers || kind == JsonKind::booleans || kind == JsonKind::texts;
    const bool is = is_list ? found->is_array() && std::all_of(found->begin(), found->end(), fits) : fits(*found);
    if (!is) refuseValue(key, *found, kNames[static_cast<int>(kind)]);
    return &*found;
}

void refuseValue(const char* key, const Json& value, const std::string& wanted) {
    refuse(std::string("the configuration's ") + key + " is " + shown(value) + "; it must be " + wanted);
}

double readNumber(const Json& object, Keys keys, double low, double high, double otherwise) {
    const char* before = nullptr;
    for (const char* key : keys) {
        const Json* found = findKey(object, key);
        if (found == nullptr) continue;
        const double number = found->is_number() ? found->get<double>() : NAN;
        if (!(number >= low && number <= high)) {
            char range[64];
            std::snprintf(range, sizeof range, "a number from %g to %g", low, high);
            refuseValue(key, *found, range);
        }
        if (before != nullptr && number != otherwise) {
            refuse(std::string("the configuration's ") + before + " is " + shown(object[before]) + " and its " + key +
                   " " + shown(*found) + "; they must agree");
        }
        before = key;
        otherwise = number;
    }
    return otherwise;
}

uint32_t readCount(const Json& object, Keys keys, double high, uint32_t otherwise) {
    const double number = readNumber(object, keys, 1, high, otherwise);
    for (const char* key : keys) {
        const Json* found = number != std::floor(number) ? findKey(object, key) : nullptr;
        if (found != nullptr) refuseValue(key, *found, "a whole number");
    }
    return static_cast<uint32_t>(number);
}

std::string readText(const Json& object, const char* key, const std::string& otherwise) {
    const Json* found = findKey(object, key, JsonKind::text);
    return found == nullptr ? otherwise : found->get<std::string>();
}

bool readBool(const Json& object, const char* key, bool otherwise) {
    const Json* found = findKey(object, key, JsonKind::boolean);
    return found == nullptr ? otherwise : found->get<bool>();
}

} // namespace config
} // namespace rope
