#include "models/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace rope {
namespace config {

Json parsed(const char* object) { return object != nullptr ? Json::parse(object) : Json::object(); }

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 48) text = text.substr(0, 45) + "...";
    return text;
}

bool isOff(const Json& value) { return value.is_null() || value == false; }

const Json* findKey(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

void refuseValue(const char* key, const Json& value, const std::string& wanted) {
    refuse(std::string("the configuration's ") + key + " is " + shown(value) + "; it must be " + wanted);
}

double readNumber(const Json& object, const char* key, double low, double high, double otherwise) {
    const Json* found = findKey(object, key);
    if (found == nullptr) return otherwise;
    const double number = found->is_number() ? found->get<double>() : NAN;
    if (number >= low && number <= high) return number;
    char range[64];
    std::snprintf(range, sizeof range, "a number from %g to %g", low, high);
    refuseValue(key, *found, range);
}

uint32_t readCount(const Json& object, const char* key, double high, uint32_t otherwise) {
    const double number = readNumber(object, key, 1, high, otherwise);
    if (number != std::floor(number)) refuseValue(key, *findKey(object, key), "a whole number");
    return static_cast<uint32_t>(number);
}

double readAliased(const Json& object, Keys keys, double low, double high) {
    const char* name = nullptr;
    double value = NAN;
    for (const char* key : keys) {
        const double number = readNumber(object, key, low, high, NAN);
        if (std::isnan(number)) continue;
        if (name != nullptr && number != value) {
            refuse(std::string("the configuration's ") + name + " is " + shown(object[name]) + " and its " + key + " " +
                   shown(object[key]) + "; they must agree");
        }
        name = key;
        value = number;
    }
    return value;
}

uint32_t readAliasedCount(const Json& object, Keys keys, double high, uint32_t otherwise) {
    for (const char* key : keys) otherwise = readCount(object, key, high, otherwise);
    readAliased(object, keys, 1, high); // they agree
    return otherwise;
}

std::string readText(const Json& object, const char* key, const std::string& otherwise) {
    const Json* found = findKey(object, key);
    if (found == nullptr) return otherwise;
    if (!found->is_string()) refuseValue(key, *found, "a name in quotes");
    return found->get<std::string>();
}

bool readBool(const Json& object, const char* key, bool otherwise) {
    const Json* found = findKey(object, key);
    if (found == nullptr) return otherwise;
    if (!found->is_boolean()) refuseValue(key, *found, "true or false");
    return found->get<bool>();
}

void checkKind(const Json& object, const char* key, JsonKind kind) {
    struct Kind {
        const char* name;
        bool (*fits)(const Json&);
        bool is_list = false;
    };
    static const Kind kKinds[] = {
        {"a number", [](const Json& value) { return value.is_number(); }},
        {"a name in quotes", [](const Json& value) { return value.is_string(); }},
        {"true or false", [](const Json& value) { return value.is_boolean(); }},
        {"an object in braces", [](const Json& value) { return value.is_object(); }},
        {"a list of numbers", [](const Json& item) { return item.is_number(); }, true},
        {"a list of 1 and 0, one per layer",
         [](const Json& item) { return item.is_boolean() || item == 0 || item == 1; }, true},
        {"a list of names in quotes", [](const Json& item) { return item.is_string(); }, true}};
    const Json* found = findKey(object, key);
    const Kind& wanted = kKinds[static_cast<int>(kind)];
    if (found == nullptr) return;
    const bool fits = wanted.is_list ? found->is_array() && std::all_of(found->begin(), found->end(), wanted.fits)
                                     : wanted.fits(*found);
    if (!fits) refuseValue(key, *found, wanted.name);
}

void checkKinds(const Json& object, Keys keys, JsonKind kind) {
    for (const char* key : keys) checkKind(object, key, kind);
}

// ---- A configuration's text as JSON ---------------------------------------------------------------------------------
namespace {

constexpr size_t kMaxDepth = 32;       // values are copied, compared and printed by recursion
constexpr size_t kMaxValues = 1 << 18; // lists of 20 000 labels go by

// Builds the value of a text, up to the first thing that is refused.
class Builder : public Json::json_sax_t {
  public:
    explicit Builder(size_t bytes) : bytes_(bytes) {}
    Json root;

    bool null() override { return add(nullptr) != nullptr; }
    bool boolean(bool value) override { return add(value) != nullptr; }
    bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
    bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
    bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
    bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
    bool binary(binary_t&) override { return false; } // JSON has none
    bool start_object(size_t) override { return open(Json::object()); }
    bool start_array(size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (open_.back()->contains(name))
            refuse("the configuration has the key " + shown(name) + " twice; it must be there once");
        key_ = name;
        return true;
    }
    bool parse_error(size_t position, const std::string&, const Json::exception& exception) override {
        const std::string what = exception.what();
        if (position > bytes_ || bytes_ == 0)
            refuse("the configuration is not whole: its JSON ends after " + std::to_string(bytes_) + " bytes");
        const size_t after = what.find("] "); // the library's own name of the error ends here
        refuse("the configuration is not JSON: " + (after == what.npos ? what : what.substr(after + 2)));
    }

  private:
    size_t bytes_;
    std::vector<Json*> open_; // objects and lists
    std::string key_;
    size_t values_ = 0;

    Json* add(Json value) {
        if (open_.size() > kMaxDepth)
            refuse("the configuration is nested deeper than " + std::to_string(kMaxDepth) + " levels");
        if (++values_ > kMaxValues) refuse("the configuration has more than " + std::to_string(kMaxValues) + " values");
        if (open_.empty()) return &(root = std::move(value));
        if (open_.back()->is_object()) return &((*open_.back())[key_] = std::move(value));
        open_.back()->push_back(std::move(value));
        return &open_.back()->back();
    }
    bool open(Json value) {
        open_.push_back(add(std::move(value)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }
};

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A number that Python's json writes and JSON does not have, and a text of as many bytes, which no number may be.
constexpr const char* kPythonsNumbers[][2] = {
    {"-Infinity", "\"-inf\"   "}, {"Infinity", "\"inf\"   "}, {"NaN", "\"?\""}};

// Returns the bytes of such a number, or 0. It ends where a value may end.
size_t replaceNumber(size_t at, std::string* text) {
    for (const auto& number : kPythonsNumbers) {
        const size_t length = std::strlen(number[0]);
        if (text->compare(at, length, number[0]) != 0) continue;
        size_t next = at + length;
        while (next < text->size() && isSpace((*text)[next])) ++next;
        if (next != text->size() && std::strchr(",]}", (*text)[next]) == nullptr) return 0;
        text->replace(at, length, number[1]);
        return length;
    }
    return 0;
}

std::string withoutPythonsNumbers(std::string text) {
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (quoted && text[i] == '\\') ++i;
        const size_t length = quoted ? 0 : replaceNumber(i, &text);
        if (length != 0) i += length - 1;
    }
    return text;
}

} // namespace

Json parseConfig(const std::string& given) {
    const std::string text = withoutPythonsNumbers(given);
    const size_t zero = text.find('\0'); // the library takes it for the end
    if (zero != text.npos) refuse("the configuration is not JSON: byte " + std::to_string(zero) + " is a zero");
    Builder builder(text.size());
    Json::sax_parse(text, &builder);
    Json& config = builder.root;
    if (!config.is_object()) refuse("the configuration is " + shown(config) + "; it must be an object in braces");
    return std::move(config);
}

} // namespace config
} // namespace rope
