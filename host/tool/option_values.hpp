// What an option takes, and the sentence where it is given something else: the one place for all commands.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
class ParseError;
} // namespace CLI

namespace tool {

// `what`: "a whole number of positions". A count is written in digits, a number as C has it.
void takesCount(CLI::Option* option, const char* what, uint64_t low, uint64_t high);
void takesNumber(CLI::Option* option, const char* what, double low, double high, bool whole = false);

// An empty value of any option counts as a fault, not as an option that is not given.
void refuseEmpty(CLI::App* app);

// One sentence of what the parser has found.
std::string sentenceOf(const CLI::ParseError& error);

} // namespace tool
