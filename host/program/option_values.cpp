// To take an option away that a user may look for: a row of kElsewhere, which names the way that works.
//
// To add an option: its command's file in commands/. What values it takes stands here.
#include "program/option_values.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>

namespace tool {
namespace {

// The parser puts "--name: " in front of what a check says; sentenceOf turns that into "--name ".
std::string takesSentence(const std::string& what, const std::string& given) {
    return "takes " + what + ", not '" + given + "'";
}

std::string rangeText(const char* what, double low, double high) {
    char text[64];
    std::snprintf(text, sizeof text, " from %.16g to %.16g", low, high);
    return what + std::string(text);
}

void addTransform(CLI::Option* option, const std::function<std::string(std::string&)>& find) {
    option->transform(CLI::Validator(find, ""));
}

bool isNumber(const std::string& text, double* number) {
    char* end = nullptr;
    *number = std::strtod(text.c_str(), &end);
    return text.find_first_not_of("0123456789+-.eE") == text.npos && end == text.c_str() + text.size() && !text.empty();
}

// Returns the text between the two, or to the end where the second is missing.
std::string textBetween(const std::string& text, const char* before, const char* after) {
    const size_t skipped = text.find(before) + std::string(before).size();
    return text.substr(skipped, text.find(after, skipped) - skipped);
}

} // namespace

CLI::Option* addFlag(CLI::App* app, const char* name, bool* to, const char* help) {
    return app->add_flag(name, *to, help);
}

template <typename T> CLI::Option* addOption(CLI::App* app, const char* name, T* to, const char* help) {
    return app->add_option(name, *to, help);
}
template CLI::Option* addOption(CLI::App*, const char*, std::string*, const char*);
template CLI::Option* addOption(CLI::App*, const char*, std::vector<std::string>*, const char*);
template CLI::Option* addOption(CLI::App*, const char*, uint32_t*, const char*);
template CLI::Option* addOption(CLI::App*, const char*, std::optional<uint32_t>*, const char*);
template CLI::Option* addOption(CLI::App*, const char*, std::vector<uint32_t>*, const char*);
template CLI::Option* addOption(CLI::App*, const char*, int64_t*, const char*);
template CLI::Option* addOption(CLI::App*, const char*, double*, const char*);

void addFooter(CLI::App* app, const char* text) { app->footer(text); }

void require(CLI::Option* option) { option->required(); }

void excludes(CLI::Option* option, CLI::Option* other) { option->excludes(other); }

void excludesOthers(CLI::Option* option, CLI::App* app) {
    for (CLI::Option* other : app->get_options()) {
        if (other != option && !other->check_lname("help")) option->excludes(other);
    }
}

void needsEachOther(CLI::Option* one, CLI::Option* other) {
    one->needs(other);
    other->needs(one);
}

void takesNoMore(CLI::Option* option) { option->allow_extra_args(false); }

void takesList(CLI::Option* option) { option->delimiter(',')->allow_extra_args(false); }

void takesOneOf(CLI::Option* option, const std::vector<std::string>& names) { option->check(CLI::IsMember(names)); }

void takesWhat(CLI::Option* option, const std::function<std::string(const std::string&)>& refuse) {
    option->check(refuse);
}

void takesCount(CLI::Option* option, const char* what, uint64_t low, uint64_t high) {
    const std::string wanted = rangeText(what, static_cast<double>(low), static_cast<double>(high));
    addTransform(option, [wanted, low, high](std::string& given) {
        const bool digits = !given.empty() && given.size() < 19 && given.find_first_not_of("0123456789") == given.npos;
        const uint64_t count = digits ? std::strtoull(given.c_str(), nullptr, 10) : 0;
        if (!digits || count < low || count > high) return takesSentence(wanted, given);
        given = std::to_string(count); // the parser would take a leading zero for octal
        return std::string();
    });
}

void takesNumber(CLI::Option* option, const char* what, double low, double high, bool whole) {
    const std::string wanted = rangeText(what, low, high);
    addTransform(option, [wanted, low, high, whole](std::string& given) {
        double number = 0;
        const bool fits = isNumber(given, &number) && number >= low && number <= high;
        return fits && !(whole && number != std::floor(number)) ? std::string() : takesSentence(wanted, given);
    });
}

void refuseStrayValues(CLI::App* app) {
    for (CLI::Option* option : app->get_options()) {
        option->disable_flag_override(); // it would read 7 from --json=7x
        if (option->get_expected_max() == 0) continue;
        addTransform(option,
                     [](std::string& given) { return given.empty() ? std::string("is empty; it takes a value") : ""; });
    }
}

// Returns the parser's "--name: word not in {a,b,c}" as a sentence.
static std::string choiceSentence(const std::string& name, const std::string& text) {
    const size_t brace = text.rfind(" not in {"); // the word given may have braces too
    std::string choices = textBetween(text.substr(brace), "{", "}");
    for (size_t comma = choices.find(','); comma != choices.npos; comma = choices.find(',', comma + 2))
        choices.insert(comma + 1, " ");
    const std::string given = text.substr(name.size() + 2, brace - name.size() - 2);
    return name + " takes one of " + choices + ", not '" + given + "'";
}

// Options that a user may look for, and what does the same.
static constexpr const char* kElsewhere[][2] = {
    {"--frequencies", "vkrope.Encoding of the Python package takes frequencies of your own"},
    {"--scale", "vkrope.Encoding of the Python package takes it"},
    {"--sections", "--config says it, and vkrope.Encoding of the Python package"},
    {"--axes", "--config says it, and vkrope.Encoding of the Python package"},
    {"--cos", "a rotation by given rows is ROPE_SOURCE_ROWS of rope.h"},
    {"--sin", "a rotation by given rows is ROPE_SOURCE_ROWS of rope.h"},
    {"--format", "other rows are made of --cos and --sin, as docs/python.md has it"},
    {"--plot", "python -m vkrope plot bandwidth draws what --json prints"},
    {"--tune", "--tuning times one cut of the threads"},
};

static std::string noOptionSentence(const std::string& option) {
    for (const auto& [name, instead] : kElsewhere) {
        if (option == name) return "there is no option '" + option + "'; " + instead;
    }
    return "there is no option '" + option + "'; --help lists what is taken";
}

// The words that no option took come in any order, and an option's value is among them.
static std::string unexpectedSentence(const std::string& words) {
    const size_t option = words.find(" -");
    if (option != words.npos) return noOptionSentence(textBetween(words.substr(option), " ", " "));
    return "'" + textBetween(words, " ", " ") + "' is one word too many; --help lists what is taken";
}

std::string sentenceOf(const CLI::ParseError& error, const std::vector<std::string>& untaken) {
    for (const std::string& word : untaken) { // the parser misses a required option first
        if (word.size() > 1 && word[0] == '-' && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
            return noOptionSentence(word);
    }
    const std::string text = error.what(), first = text.substr(0, text.find('\n')); // further lines hold hints
    const std::string name = textBetween(first, "", ":");
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && first.find(" = ") != first.npos)
        return textBetween(first, ": ", " = ") + " does not take '" + first.substr(first.find(" = ") + 3) + "'";
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        if (first.find(" flag override") != first.npos)
            return "--" + textBetween(first, "", " was") + " takes no value";
        return first.find(" missing") != first.npos ? name + " needs a value" : name + " is given more than once";
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
        return unexpectedSentence(textBetween(first, ":", "\n"));
    if (first.find(" is required") != first.npos) // which other versions of the parser throw as another error
        return textBetween(first, "", " is required") + " is missing; --help lists what is taken";
    if (first.find(" not in {") != first.npos) return choiceSentence(name, first);
    const bool ours = first.compare(0, name.size() + 7, name + ": takes") == 0 ||
                      first.compare(0, name.size() + 10, name + ": is empty") == 0;
    return ours ? name + first.substr(name.size() + 1) : first;
}

} // namespace tool
