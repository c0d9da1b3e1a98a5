// Typed values out of a configuration's JSON. All but find() and shown() return false after a refusal, with one
// sentence in *error.
#pragma once

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>

namespace rope {
namespace config {

using Json = nlohmann::json;
using Keys = std::initializer_list<const char*>;

bool refuse(std::string* error, const std::string& text);

// What is fit to stand in a sentence.
std::string shown(const Json& value);

bool isOneOf(const std::string& key, Keys keys);

bool isOff(const Json& value); // as good as absent

// The member, or null where it is absent or null.
const Json* find(const Json& object, const char* key);

// These leave *value as it is where the key is absent.
bool readNumber(const Json& object, const char* key, double low, double high, double* value, std::string* error);
bool readCount(const Json& object, const char* key, double high, uint32_t* value, std::string* error);
bool readText(const Json& object, const char* key, std::string* value, std::string* error);
bool readSwitch(const Json& object, const char* key, bool* value, std::string* error);

// One number that has several names, which must agree. *value is NaN where there is none.
bool readNamed(const Json& object, Keys keys, double low, double high, double* value, std::string* error);

// Likewise. *value is left as it is where there is none.
bool readNamedCount(const Json& object, Keys keys, double high, uint32_t* value, std::string* error);

enum class Kind { number, name, choice, object, numbers, choices, names };

// Whether a key is of the kind that it is read as, or absent, even where nothing comes to read it.
bool checkKind(const Json& object, const char* key, Kind kind, std::string* error);

} // namespace config
} // namespace rope
