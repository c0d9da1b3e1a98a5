// vkrope, the program, prints frequencies, makes tables of cos and sin, rotates arrays, checks devices and times them.
#include "program/option_values.hpp"
#include "program/tool.hpp"

#include <vkrope/rope.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <new>
#include <vector>

namespace tool {

bool refuse(Failure* failure, const std::string& text) {
    *failure = {2, text};
    return false;
}

bool fail(Failure* failure, const std::string& text) {
    *failure = {1, text};
    return false;
}

namespace {

// Reads the character of UTF-8 at `at`, and returns its bytes, 0 if none are well formed.
size_t readCharacter(const std::string& text, size_t at, uint32_t* character) {
    const uint32_t first = static_cast<unsigned char>(text[at]);
    const size_t length = first < 0x80   ? 1
                          : first < 0xC2 ? 0
                          : first < 0xE0 ? 2
                          : first < 0xF0 ? 3
                          : first < 0xF5 ? 4
                                         : 0;
    if (length == 0 || at + length > text.size()) return 0;
    *character = length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length; ++i) {
        const uint32_t next = static_cast<unsigned char>(text[at + i]);
        if ((next & 0xC0) != 0x80) return 0;
        *character = *character << 6 | (next & 0x3F);
    }
    return length;
}

// True for what a terminal obeys, and for ends of lines: the controls of ASCII and of U+0080 to U+009F, and the
// separators U+2028 and U+2029.
bool isControl(uint32_t character) {
    return character < 32 || (character >= 127 && character < 160) || character == 0x2028 || character == 0x2029;
}

} // namespace

std::string oneLine(std::string text) {
    for (size_t at = 0; at < text.size();) {
        uint32_t character = '?';
        const size_t length = readCharacter(text, at, &character);
        if (length == 0) text[at] = '?';
        if (length != 0 && isControl(character)) text.replace(at, length, length, ' ');
        at += length == 0 ? 1 : length;
    }
    return text;
}

void warn(const char* command, const std::string& text) {
    std::fprintf(stderr, "vkrope %s: warning: %s\n", command, oneLine(text).c_str());
}

void remark(const char* command, const std::string& text) {
    std::fprintf(stderr, "vkrope %s: note: %s\n", command, oneLine(text).c_str());
}

} // namespace tool

namespace {

struct Command {
    const char* name;
    const char* summary;
    tool::RunCommand (*add)(CLI::App*);
};

const Command kCommands[] = {
    {"devices", "name the Vulkan devices, what they offer and how they round", tool::addDevicesCommand},
    {"frequencies", "print a model's frequencies, from its configuration", tool::addFrequenciesCommand},
    {"models", "list the known models, and what is known of each", tool::addModelsCommand},
    {"table", "make the cos and sin of every position and pair", tool::addTableCommand},
    {"rotate", "rotate Q and K", tool::addRotateCommand},
    {"check", "compare a device with the reference, over the whole option matrix", tool::addCheckCommand},
    {"check-spirv", "find what a driver may fuse in a shader of your own", tool::addCheckSpirvCommand},
    {"bench", "time a device's rotations beside copies of the same bytes", tool::addBenchCommand},
};

// The commands of earlier versions, and what has them now.
const struct {
    const char* name;
    const char* instead;
} kMoved[] = {{"permute", "python -m vkrope permute"},
              {"plot", "python -m vkrope plot"},
              {"add-positions", "vkrope.Device.add"},
              {"bias", "vkrope.Device.bias"}};

std::string commandNames() {
    std::string names;
    for (const Command& command : kCommands) names += (names.empty() ? "" : ", ") + std::string(command.name);
    return names;
}

bool isCommand(const std::string& name) {
    return std::any_of(std::begin(kCommands), std::end(kCommands),
                       [&](const Command& one) { return name == one.name; });
}

std::string whyNoCommand(const std::string& name) {
    for (const auto& moved : kMoved) {
        if (name == moved.name) return name + " is in the Python package: " + moved.instead;
    }
    return "there is no command '" + name + "'; there are " + commandNames();
}

int complain(const std::string& command, const tool::Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", command.c_str(), tool::oneLine(failure.text).c_str());
    return failure.status;
}

// Printed text may wait in a buffer, or have met a full device.
bool flushOutput(tool::Failure* failure) {
    return (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) ||
           tool::fail(failure, std::string("standard output cannot be written: ") + std::strerror(errno));
}

int runCommand(const std::string& name, const tool::RunCommand& run) {
    tool::Failure failure;
    try {
        if (run(&failure) && flushOutput(&failure)) return 0;
    } catch (const std::bad_alloc&) {
        failure = {1, "this takes more memory than there is"};
    } catch (const std::exception& exception) {
        failure = {1, exception.what()};
    }
    // A command that has printed its misses itself leaves no text.
    return failure.text.empty() ? failure.status : complain("vkrope " + name, failure);
}

} // namespace

int main(int count, char** values) {
#ifdef SIGXFSZ
    std::signal(SIGXFSZ, SIG_IGN); // what is written beyond the limit of a file's size then fails in a sentence
#endif
    CLI::App app("Position encodings on Vulkan devices, rotary ones above all. `vkrope COMMAND --help` has an example "
                 "of each command.",
                 "vkrope");
    const std::string version = std::to_string(ROPE_VERSION_MAJOR) + "." + std::to_string(ROPE_VERSION_MINOR) + "." +
                                std::to_string(ROPE_VERSION_PATCH);
    app.set_version_flag("--version", "vkrope " + version, "print the version");
    app.require_subcommand(0, 1);
    std::map<std::string, tool::RunCommand> runs;
    for (const Command& command : kCommands) {
        CLI::App* sub = app.add_subcommand(command.name, command.summary);
        runs[command.name] = command.add(sub);
        tool::refuseStrayValues(sub);
    }
    if (count > 1 && values[1][0] != '-' && !isCommand(values[1]))
        return complain("vkrope", {2, whyNoCommand(values[1])}); // the parser would let a --help behind it pass
    try {
        app.parse(count, values);
    } catch (const CLI::ParseError& error) {
        const CLI::App* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
        tool::Failure failure = {2, ""};
        if (error.get_exit_code() == 0) { // help or version
            app.exit(error);
            if (flushOutput(&failure)) return 0;
        } else {
            failure.text = tool::sentenceOf(error, command->remaining());
        }
        return complain(command == &app ? "vkrope" : "vkrope " + command->get_name(), failure);
    }
    if (app.get_subcommands().empty())
        return complain("vkrope", {2, "a command is missing, one of " + commandNames() + "; --help says what they do"});
    const std::string name = app.get_subcommands().front()->get_name();
    return runCommand(name, runs[name]);
}
