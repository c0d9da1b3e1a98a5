// vkrope check-spirv: finds the operations of a shader that a driver may fuse.
#include "program/check/contraction.hpp"
#include "program/check/interface.hpp"
#include "program/option_values.hpp"
#include "program/tool.hpp"

#include <cstdio>
#include <memory>

namespace tool {
namespace {

struct CheckSpirvOptions {
    std::vector<std::string> files;
    std::string within;
    bool all = false;
};

std::string locationText(const rope::FloatOperation& operation) {
    std::string place;
    if (!operation.function.empty()) place += " in " + operation.function;
    if (operation.line != 0) place += " at " + operation.file + ":" + std::to_string(operation.line);
    return place;
}

// Returns the operations that count against a module.
std::vector<rope::FloatOperation> countedOperations(const CheckSpirvOptions& options,
                                                    const rope::Arithmetic& arithmetic) {
    std::vector<rope::FloatOperation> counted;
    for (const rope::FloatOperation& operation : arithmetic.undecorated) {
        const bool meant = options.within.empty() || operation.function.find(options.within) != std::string::npos ||
                           operation.file.find(options.within) != std::string::npos;
        if (meant && (options.all || operation.fusible)) counted.push_back(operation);
    }
    return counted;
}

// A module without names and lines has no operation within anything, and would pass for that reason.
bool hasLines(const std::string& path, const CheckSpirvOptions& options, const rope::Arithmetic& arithmetic,
              Failure* failure) {
    if (options.within.empty()) return true;
    for (const rope::FloatOperation& operation : arithmetic.undecorated) {
        if (operation.line == 0) {
            return refuse(failure, path + " does not tell where its operations come from, which --within asks for; "
                                          "compile it with glslc -g");
        }
    }
    return true;
}

bool checkModule(const std::string& path, const CheckSpirvOptions& options, bool* passed, Failure* failure) {
    std::vector<uint32_t> words;
    rope::Arithmetic arithmetic;
    std::string error;
    if (!rope::readWords(path, &words, &error)) return refuse(failure, error);
    if (!rope::readArithmetic(std::move(words), &arithmetic, &error)) return refuse(failure, path + " " + error);
    if (!hasLines(path, options, arithmetic, failure)) return false;
    const std::vector<rope::FloatOperation> counted = countedOperations(options, arithmetic);
    std::printf("%s: %u float operations, %zu without NoContraction, %zu that count\n", oneLine(path).c_str(),
                arithmetic.operations, arithmetic.undecorated.size(), counted.size());
    for (const rope::FloatOperation& operation : counted)
        std::printf("  %s %%%u%s\n", operation.name, operation.id, oneLine(locationText(operation)).c_str());
    *passed = *passed && counted.empty();
    return true;
}

bool runCheckSpirv(const CheckSpirvOptions& options, Failure* failure) {
    bool passed = true;
    for (const std::string& path : options.files) {
        if (!checkModule(path, options, &passed, failure)) return false;
    }
    failure->status = 1; // the operations that count are printed
    return passed;
}

const char kCheckSpirvExample[] =
    "A driver may fuse a product into the sum that takes it, unless NoContraction forbids it, which\n"
    "`precise` asks for: rope_rotate, rope_alibi and their like have it in each operation. glslc -O drops it\n"
    "from copies that it makes of a loop (before SPIRV-Tools of October 2025, issue 5902), and rotations then\n"
    "differ in their last bits from device to device. This command counts products that a sum takes, and fused\n"
    "operations. Some may be arithmetic of your own, where you do not mind: --within tells vkrope's apart.\n"
    "\n"
    "A product is followed through calls, variables, changes of sign, abs, min, max, clamp and ldexp. mix, dot,\n"
    "length, distance, cross, normalize, reflect and other functions made of products and sums count as fused\n"
    "operations. A product behind a conversion to another width is not followed. Division, sqrt, exp, sin and\n"
    "other functions whose precision Vulkan leaves to the driver are not counted.\n"
    "\n"
    "example, the smallest module there is:\n"
    "  printf '\\3\\2\\43\\7\\0\\0\\1\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0' > shader.spv\n"
    "  vkrope check-spirv shader.spv";

} // namespace

RunCommand addCheckSpirvCommand(CLI::App* app) {
    const auto options = std::make_shared<CheckSpirvOptions>();
    require(addOption(app, "FILE", &options->files, "SPIR-V modules, as glslc -o writes them"));
    addOption(app, "--within", &options->within,
              "count only what comes from a source file or function whose name holds this: pair.h is the\n"
              "rotation's; the module must be compiled with glslc -g");
    addFlag(app, "--all", &options->all, "count every product and sum without NoContraction: sums may be reordered");
    addFooter(app, kCheckSpirvExample);
    return [options](Failure* failure) { return runCheckSpirv(*options, failure); };
}

} // namespace tool
