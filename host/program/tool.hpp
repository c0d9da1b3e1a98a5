// The commands of the program vkrope. Each adds its options to its subcommand and returns the function that runs it.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tool {

// The reason why a command did not do what it was asked to.
struct Failure {
    int status = 0; // 1: a miss, or the machine failed; 2: the request is at fault
    std::string text;
};

// Both functions return false, so that a caller can return their result.
bool refuse(Failure* failure, const std::string& text); // status 2
bool fail(Failure* failure, const std::string& text);   // status 1

using RunCommand = std::function<bool(Failure*)>;

RunCommand addDevicesCommand(CLI::App* app);
RunCommand addFrequenciesCommand(CLI::App* app);
const char* frequenciesSchema(); // the text of commands/frequencies.schema.json
RunCommand addModelsCommand(CLI::App* app);
RunCommand addTableCommand(CLI::App* app);
RunCommand addRotateCommand(CLI::App* app);
RunCommand addCheckCommand(CLI::App* app);
RunCommand addCheckSpirvCommand(CLI::App* app);
RunCommand addBenchCommand(CLI::App* app);

// Prints one line on stderr, whatever the text holds: "vkrope rotate: warning: ...".
void warn(const char* command, const std::string& text);
void remark(const char* command, const std::string& text); // likewise: "vkrope rotate: note: ..."
std::string oneLine(std::string text);

} // namespace tool
