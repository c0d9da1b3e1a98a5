// A command's options, the values that they take, and the sentence that refuses others: the one place for all commands.
// The parser's header takes seconds to compile, so no command includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
} // namespace CLI

namespace tool {

CLI::Option* addFlag(CLI::App* app, const char* name, bool* to, const char* help);
// T is a string, a number, which may be optional, or a vector of one of them; option_values.cpp lists the types.
template <typename T> CLI::Option* addOption(CLI::App* app, const char* name, T* to, const char* help);
void addFooter(CLI::App* app, const char* text); // below the options of --help

void require(CLI::Option* option);
void excludes(CLI::Option* option, CLI::Option* other);
void excludesOthers(CLI::Option* option, CLI::App* app); // all that the command has so far, but for --help
void needsEachOther(CLI::Option* one, CLI::Option* other);
void takesNoMore(CLI::Option* option); // than one value each time it is given
void takesList(CLI::Option* option);   // of values with commas between them, and may be given again
void takesOneOf(CLI::Option* option, const std::vector<std::string>& names);
// `refuse` returns what the option takes, with the value given, or nothing where the value is right.
void takesWhat(CLI::Option* option, const std::function<std::string(const std::string&)>& refuse);
// `what` names the value: "a whole number of positions". A count is written in digits, a number as in C.
void takesCount(CLI::Option* option, const char* what, uint64_t low, uint64_t high);
void takesNumber(CLI::Option* option, const char* what, double low, double high, bool whole = false);

// Refuses an empty value of any option, which would otherwise count as an option that is not given, and a value of
// a flag, but for its own `true`.
void refuseStrayValues(CLI::App* app);

// Returns one sentence about what the parser has found.
std::string sentenceOf(const CLI::ParseError& error, const std::vector<std::string>& untaken);

} // namespace tool
