#include "program/check/interface.hpp"

#include "program/check/contraction.hpp"
#include "program/files/input_file.hpp"

#include <spirv/unified1/spirv.hpp11>

#include <algorithm>

namespace rope {
namespace {

using spv::Decoration;
using spv::Op;

// Remembers what the instructions before the functions say. Ids lead from one to the next, and need not be there.
class InterfaceReader {
  public:
    explicit InterfaceReader(ShaderInterface* interface) : interface_(interface) {}
    void take(const uint32_t* words, uint32_t length);
    void finish();

  private:
    using Instruction = std::vector<uint32_t>;
    static bool is(const Instruction& instruction, Op op) { return at(instruction, 0) == static_cast<uint32_t>(op); }
    static uint32_t at(const Instruction& instruction, size_t i) { return i < instruction.size() ? instruction[i] : 0; }
    const Instruction& named(uint32_t id) { return named_[id]; }
    bool has(uint32_t id, Decoration decoration) const { return decorations_.count({id, Key(decoration)}) != 0; }
    uint32_t value(uint32_t id, Decoration decoration) { return decorations_[{id, Key(decoration)}]; }
    static uint32_t Key(Decoration decoration) { return static_cast<uint32_t>(decoration); }
    void takeVariable(uint32_t id, const Instruction& variable);
    uint64_t bytesOf(uint32_t type, uint32_t depth);

    ShaderInterface* interface_;
    std::map<uint32_t, Instruction> named_; // by the id of their result, with the opcode first
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> decorations_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> offsets_; // of a structure's members
};

void InterfaceReader::take(const uint32_t* words, uint32_t length) {
    Instruction instruction(words, words + length);
    instruction[0] &= spv::OpCodeMask;
    const uint32_t first = at(instruction, 1), second = at(instruction, 2), third = at(instruction, 3);
    switch (static_cast<Op>(instruction[0])) {
    case Op::OpCapability:
        interface_->capabilities.insert(first);
        break;
    case Op::OpEntryPoint:
        if (first == static_cast<uint32_t>(spv::ExecutionModel::GLCompute))
            interface_->entries.insert(textOf(words + std::min(length, 3u), words + length));
        break;
    case Op::OpExecutionMode:
        for (uint32_t axis = 0; second == static_cast<uint32_t>(spv::ExecutionMode::LocalSize) && axis < 3; ++axis)
            interface_->group[axis] = at(instruction, 3 + axis);
        break;
    case Op::OpDecorate:
        decorations_[{first, second}] = third;
        break;
    case Op::OpMemberDecorate:
        if (third == Key(Decoration::Offset)) offsets_[{first, second}] = at(instruction, 4);
        break;
    case Op::OpTypeInt:
    case Op::OpTypeFloat:
    case Op::OpTypeVector:
    case Op::OpTypeArray:
    case Op::OpTypeStruct:
    case Op::OpTypePointer:
        named_[first] = std::move(instruction);
        break;
    case Op::OpConstant:
    case Op::OpSpecConstant:
    case Op::OpSpecConstantTrue:
    case Op::OpSpecConstantFalse:
    case Op::OpConstantComposite:
    case Op::OpSpecConstantComposite:
    case Op::OpVariable:
        named_[second] = std::move(instruction);
        break;
    default:
        break;
    }
}

// Returns the bytes of a type in a block. A module whose types lead in a circle ends too.
uint64_t InterfaceReader::bytesOf(uint32_t type, uint32_t depth) {
    const Instruction instruction = named(type);
    if (depth == 0) return 0;
    if (is(instruction, Op::OpTypeInt) || is(instruction, Op::OpTypeFloat)) return at(instruction, 2) / 8;
    if (is(instruction, Op::OpTypeVector)) return bytesOf(at(instruction, 2), depth - 1) * at(instruction, 3);
    if (is(instruction, Op::OpTypeArray))
        return uint64_t{value(type, Decoration::ArrayStride)} * at(named(at(instruction, 3)), 3);
    uint64_t end = 0;
    for (uint32_t i = 2; is(instruction, Op::OpTypeStruct) && i < instruction.size(); ++i)
        end = std::max(end, offsets_[{type, i - 2}] + bytesOf(instruction[i], depth - 1));
    return end;
}

void InterfaceReader::takeVariable(uint32_t id, const Instruction& variable) {
    constexpr uint32_t kDepth = 4; // of structures in structures
    const auto storage = static_cast<spv::StorageClass>(at(variable, 3));
    const uint32_t block = at(named(at(variable, 1)), 3); // what the pointer points to
    if (storage == spv::StorageClass::PushConstant)
        interface_->push_bytes = static_cast<uint32_t>(std::min<uint64_t>(bytesOf(block, kDepth), UINT32_MAX));
    if (!has(id, Decoration::Binding)) return;
    const uint32_t set = value(id, Decoration::DescriptorSet), binding = value(id, Decoration::Binding);
    const bool is_buffer = storage == spv::StorageClass::StorageBuffer ||
                           (storage == spv::StorageClass::Uniform && has(block, Decoration::BufferBlock));
    if (is_buffer && set == 0)
        interface_->bindings.insert(binding);
    else
        interface_->strange = "binding " + std::to_string(binding) + " in set " + std::to_string(set);
}

void InterfaceReader::finish() {
    const std::map<uint32_t, Instruction> all = named_;
    for (const auto& [id, instruction] : all) {
        if (is(instruction, Op::OpVariable)) takeVariable(id, instruction);
        if (has(id, Decoration::SpecId))
            interface_->ids[value(id, Decoration::SpecId)] =
                is(instruction, Op::OpSpecConstantTrue) ? 1 : at(instruction, 3);
        if (!has(id, Decoration::BuiltIn) ||
            value(id, Decoration::BuiltIn) != static_cast<uint32_t>(spv::BuiltIn::WorkgroupSize))
            continue;
        for (uint32_t axis = 0; axis < 3; ++axis) {
            const uint32_t part = at(instruction, 3 + axis);
            interface_->group[axis] = at(named(part), 3);
            if (has(part, Decoration::SpecId)) interface_->group_id[axis] = value(part, Decoration::SpecId);
        }
    }
}

} // namespace

bool readWords(const std::string& path, std::vector<uint32_t>* words, std::string* error) {
    constexpr uint64_t kMostBytes = 1 << 28; // no module has a thousandth of it
    InputFile file;
    std::string problem;
    if (!file.open(path, &problem)) {
        *error = path + ": " + problem;
    } else if (file.size() % 4 != 0 || file.size() > kMostBytes) {
        *error = path + " is no SPIR-V: it has " + std::to_string(file.size()) +
                 " bytes, and a module is of whole words of 4, and of 2^28 bytes at most";
    } else {
        words->resize(static_cast<size_t>(file.size()) / 4);
        if (file.read(words->data(), static_cast<size_t>(file.size()), &problem)) return true;
        *error = path + ": " + problem;
    }
    return false;
}

bool readInterface(std::vector<uint32_t> words, ShaderInterface* interface, std::string* error) {
    InterfaceReader reader(interface);
    if (!visitInstructions(
            &words, [&](size_t at, uint32_t length) { reader.take(&words[at], length); }, error))
        return false;
    interface->version = words[1];
    reader.finish();
    return true;
}

} // namespace rope
