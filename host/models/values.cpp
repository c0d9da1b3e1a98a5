#include "models/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rope {
namespace config {

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 48) text = text.substr(0, 45) + "...";
    return text;
}

bool isOneOf(const std::string& key, Keys keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* other) { return key == other; });
}

bool holds(const char* words, const std::string& word) {
    return std::string(words).find(" " + word + " ") != std::string::npos;
}

bool isOff(const Json& value) { return value.is_null() || value == false; }

const Json* findKey(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool readNumber(const Json& object, const char* key, double low, double high, double* value, std::string* error) {
    const Json* found = findKey(object, key);
    if (found == nullptr) return true;
    const double number = found->is_number() ? found->get<double>() : NAN;
    if (!(number >= low && number <= high)) {
        char range[64];
        std::snprintf(range, sizeof range, "a number from %g to %g", low, high);
        return refuse(error,
                      std::string("the configuration's ") + key + " is " + shown(*found) + "; it must be " + range);
    }
    *value = number;
    return true;
}

bool readAliased(const Json& object, Keys keys, double low, double high, double* value, std::string* error) {
    const char* name = nullptr;
    *value = NAN;
    for (const char* key : keys) {
        double number = NAN;
        if (!readNumber(object, key, low, high, &number, error)) return false;
        if (std::isnan(number)) continue;
        if (name != nullptr && number != *value) {
            return refuse(error, std::string("the configuration's ") + name + " is " + shown(object[name]) +
                                     " and its " + key + " " + shown(object[key]) + "; they must agree");
        }
        name = key;
        *value = number;
    }
    return true;
}

bool readCount(const Json& object, const char* key, double high, uint32_t* value, std::string* error) {
    double number = *value;
    if (!readNumber(object, key, 1, high, &number, error)) return false;
    if (number != std::floor(number)) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*findKey(object, key)) +
                                 "; it must be a whole number");
    }
    *value = static_cast<uint32_t>(number);
    return true;
}

// The first of the keys that is there decides.
bool readAliasedCount(const Json& object, Keys keys, double high, uint32_t* value, std::string* error) {
    double ignored = 0;
    for (const char* key : keys) {
        if (!readCount(object, key, high, value, error)) return false;
    }
    return readAliased(object, keys, 1, high, &ignored, error);
}

bool readText(const Json& object, const char* key, std::string* value, std::string* error) {
    const Json* found = findKey(object, key);
    if (found == nullptr) return true;
    if (!found->is_string()) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) +
                                 "; it must be a name in quotes");
    }
    *value = found->get<std::string>();
    return true;
}

bool readBool(const Json& object, const char* key, bool* value, std::string* error) {
    const Json* found = findKey(object, key);
    if (found == nullptr) return true;
    if (!found->is_boolean()) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) +
                                 "; it must be true or false");
    }
    *value = found->get<bool>();
    return true;
}

namespace {

bool isOf(const Json& value, JsonKind kind) {
    const auto all = [&](bool (*fits)(const Json&)) {
        return value.is_array() && std::all_of(value.begin(), value.end(), fits);
    };
    switch (kind) {
    case JsonKind::number:
        return value.is_number();
    case JsonKind::text:
        return value.is_string();
    case JsonKind::boolean:
        return value.is_boolean();
    case JsonKind::object:
        return value.is_object();
    case JsonKind::numbers:
        return all([](const Json& item) { return item.is_number(); });
    case JsonKind::booleans:
        return all([](const Json& item) { return item.is_boolean() || item == 0 || item == 1; });
    case JsonKind::texts:
        return all([](const Json& item) { return item.is_string(); });
    }
    return false;
}

} // namespace

bool checkKind(const Json& object, const char* key, JsonKind kind, std::string* error) {
    constexpr const char* kKinds[] = {"a number",
                                      "a name in quotes",
                                      "true or false",
                                      "an object in braces",
                                      "a list of numbers",
                                      "a list of 1 and 0, one per layer",
                                      "a list of names in quotes"};
    const Json* found = findKey(object, key);
    return found == nullptr || isOf(*found, kind) ||
           refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) + "; it must be " +
                             kKinds[static_cast<int>(kind)]);
}

} // namespace config
} // namespace rope
