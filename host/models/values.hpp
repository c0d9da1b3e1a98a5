// A configuration's JSON, and typed values out of it. What does not fit is refused, by its key and its value.
#pragma once

#include "models/words.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace rope {
namespace config {

using Json = nlohmann::json;
using Keys = std::initializer_list<const char*>;

// Parses a text as one object. An object with the same key twice is refused, and one that is too deep or too long.
Json parseConfig(const std::string& given);

// The value as a sentence may contain it: cut after 45 bytes.
std::string shown(const Json& value);

// Begins the sentence with the key and its value; `wanted` is what it must be.
[[noreturn]] void refuseValue(const char* key, const Json& value, const std::string& wanted);

bool isOff(const Json& value); // null or false, which mean the same as an absent key

enum class JsonKind { any, number, text, boolean, object, numbers, booleans, texts };

// Returns the member, or null where it is absent or null. Refuses a member of another kind.
const Json* findKey(const Json& object, const char* key, JsonKind kind = JsonKind::any);

// Where the key is absent these return what the last argument says. A number may stand under several keys, which must
// agree.
double readNumber(const Json& object, Keys keys, double low, double high, double otherwise);
uint32_t readCount(const Json& object, Keys keys, double high, uint32_t otherwise); // from 1 on
std::string readText(const Json& object, const char* key, const std::string& otherwise = "");
bool readBool(const Json& object, const char* key, bool otherwise);

} // namespace config
} // namespace rope
