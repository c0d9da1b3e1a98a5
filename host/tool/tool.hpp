// The commands of the program vkrope. Each adds its options to its subcommand and returns what it does.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tool {

// Why a command did not do what it was asked to.
struct Failure {
    int status = 0; // 1: a miss, or the machine failed; 2: the request is at fault
    std::string text;
};

// Both return false, so that they can be returned.
bool refuse(Failure* failure, const std::string& text); // status 2
bool fail(Failure* failure, const std::string& text);   // status 1

using Work = std::function<bool(Failure*)>;

Work addDevices(CLI::App* app);
Work addFrequencies(CLI::App* app);
Work addPlot(CLI::App* app);
Work addTable(CLI::App* app);
Work addRotate(CLI::App* app);
Work addPermute(CLI::App* app);
Work addAddPositions(CLI::App* app);
Work addBias(CLI::App* app);
Work addCheck(CLI::App* app);
Work addCheckSpirv(CLI::App* app);
Work addBench(CLI::App* app);
Work addTune(CLI::App* app);

// One line on stderr, whatever the text holds: "vkrope rotate: warning: ...".
void warn(const char* command, const std::string& text);
std::string oneLine(std::string text);

} // namespace tool
