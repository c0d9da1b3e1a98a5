#include "config_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rope {
namespace config {

bool refuse(std::string* error, const std::string& text) {
    *error = text;
    return false;
}

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 48) text = text.substr(0, 45) + "...";
    return text;
}

bool isOneOf(const std::string& key, Keys keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* other) { return key == other; });
}

bool isOff(const Json& value) { return value.is_null() || value == false; }

const Json* find(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool readNumber(const Json& object, const char* key, double low, double high, double* value, std::string* error) {
    const Json* found = find(object, key);
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

bool readNamed(const Json& object, Keys keys, double low, double high, double* value, std::string* error) {
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
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*find(object, key)) +
                                 "; it must be a whole number");
    }
    *value = static_cast<uint32_t>(number);
    return true;
}

// The first of the names that is there.
bool readFirstCount(const Json& object, Keys keys, double high, uint32_t* value, std::string* error) {
    for (const char* key : keys) {
        if (find(object, key) != nullptr) return readCount(object, key, high, value, error);
    }
    return true;
}

bool readText(const Json& object, const char* key, std::string* value, std::string* error) {
    const Json* found = find(object, key);
    if (found == nullptr) return true;
    if (!found->is_string()) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) +
                                 "; it must be a name in quotes");
    }
    *value = found->get<std::string>();
    return true;
}

bool readSwitch(const Json& object, const char* key, bool* value, std::string* error) {
    const Json* found = find(object, key);
    if (found == nullptr) return true;
    if (!found->is_boolean()) {
        return refuse(error, std::string("the configuration's ") + key + " is " + shown(*found) +
                                 "; it must be true or false");
    }
    *value = found->get<bool>();
    return true;
}

} // namespace config
} // namespace rope
