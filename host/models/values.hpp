// Typed values out of a configuration's JSON. The functions that take an `error` return false after a refusal, with one
// sentence in *error.
#pragma once

#include "models/refusal.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>

namespace rope {
namespace config {

using Json = nlohmann::json;
using Keys = std::initializer_list<const char*>;

// The value as a sentence may contain it: cut after 45 bytes.
std::string shown(const Json& value);

bool isOneOf(const std::string& key, Keys keys);

bool holds(const char* words, const std::string& word); // words stand between spaces, also the first and the last
bool isOff(const Json& value);                          // null or false, which mean the same as an absent key

// Returns the member, or null where it is absent or null.
const Json* findKey(const Json& object, const char* key);

// These leave *value as it is where the key is absent.
bool readNumber(const Json& object, const char* key, double low, double high, double* value, std::string* error);
bool readCount(const Json& object, const char* key, double high, uint32_t* value, std::string* error);
bool readText(const Json& object, const char* key, std::string* value, std::string* error);
bool readBool(const Json& object, const char* key, bool* value, std::string* error);

// Reads a number that may stand under several keys, which must agree. *value is NaN where no key is there.
bool readAliased(const Json& object, Keys keys, double low, double high, double* value, std::string* error);

// Reads a whole number likewise, but leaves *value as it is where no key is there.
bool readAliasedCount(const Json& object, Keys keys, double high, uint32_t* value, std::string* error);

enum class JsonKind { number, text, boolean, object, numbers, booleans, texts };

// Refuses a key of another kind than it is read as, even where nothing would read it. An absent key passes.
bool checkKind(const Json& object, const char* key, JsonKind kind, std::string* error);

} // namespace config
} // namespace rope
