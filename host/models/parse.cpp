#include "models/parse.hpp"

#include <cstring>
#include <set>
#include <vector>

namespace rope {
namespace config {
namespace {

constexpr size_t kMaxDepth = 32;       // values are copied, compared and printed by recursion
constexpr size_t kMaxValues = 1 << 18; // lists of 20 000 labels go by

// Reads a text once and keeps nothing of it, up to the first thing that is refused. The library's own callback parser
// looks through an object each time that a part of it ends.
class Outline : public Json::json_sax_t {
  public:
    explicit Outline(size_t bytes) : bytes_(bytes) {}
    std::string refused; // a sentence; empty: none

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool start_object(size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool start_array(size_t) override { return open(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        return keys_.back().insert(name).second ||
               refuse(&refused, "the configuration has the key " + shown(name) + " twice; it must be there once");
    }
    bool parse_error(size_t position, const std::string&, const Json::exception& exception) override {
        const std::string what = exception.what();
        if (position > bytes_ || bytes_ == 0)
            return refuse(&refused,
                          "the configuration is not whole: its JSON ends after " + std::to_string(bytes_) + " bytes");
        const size_t after = what.find("] "); // the library's own name of the error ends here
        return refuse(&refused,
                      "the configuration is not JSON: " + (after == what.npos ? what : what.substr(after + 2)));
    }

  private:
    size_t bytes_;
    std::vector<std::set<std::string>> keys_; // one set for each object or list that is open
    size_t values_ = 0;

    bool value() {
        if (keys_.size() > kMaxDepth)
            return refuse(&refused, "the configuration is nested deeper than " + std::to_string(kMaxDepth) + " levels");
        return ++values_ <= kMaxValues ||
               refuse(&refused, "the configuration has more than " + std::to_string(kMaxValues) + " values");
    }
    bool open() {
        if (!value()) return false;
        keys_.emplace_back();
        return true;
    }
    bool close() {
        keys_.pop_back();
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

bool parseConfig(const std::string& given, Json* config, std::string* error) {
    const std::string text = withoutPythonsNumbers(given);
    const size_t zero = text.find('\0'); // the library takes it for the end
    if (zero != text.npos)
        return refuse(error, "the configuration is not JSON: byte " + std::to_string(zero) + " is a zero");
    Outline outline(text.size());
    if (!Json::sax_parse(text, &outline)) return refuse(error, outline.refused);
    *config = Json::parse(text, nullptr, false);
    return config->is_object() ||
           refuse(error, "the configuration is " + shown(*config) + "; it must be an object in braces");
}

} // namespace config
} // namespace rope
