// The values that an option takes, and the sentence that refuses others: the one place for all commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
} // namespace CLI

namespace tool {

// `what` names the value: "a whole number of positions". A count is written in digits, a number as in C.
void takesCount(CLI::Option* option, const char* what, uint64_t low, uint64_t high);
void takesNumber(CLI::Option* option, const char* what, double low, double high, bool whole = false);

// Refuses an empty value of any option, which would otherwise count as an option that is not given, and a value of
// a flag, but for its own `true`.
void refuseStrayValues(CLI::App* app);

// Returns one sentence about what the parser has found.
std::string sentenceOf(const CLI::ParseError& error, const std::vector<std::string>& untaken);

} // namespace tool
