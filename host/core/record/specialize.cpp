// This file folds the specialization constants into a shader, and takes from it the bindings that a dispatch does not
// have: a few kinds of SPIR-V instruction are found and rewritten.
#include <vkrope/rope.h>

#include "shaders/interface.h"

#include <string.h>

namespace {

// The names and numbers are the SPIR-V specification's.
enum Opcode : uint32_t {
    OpTypeBool = 20,
    OpTypePointer = 32,
    OpConstantTrue = 41,
    OpConstantFalse = 42,
    OpConstant = 43,
    OpConstantComposite = 44,
    OpSpecConstant = 50,
    OpSpecConstantComposite = 51,
    OpSpecConstantOp = 52,
    OpFunction = 54,
    OpVariable = 59,
    OpDecorate = 71,
    OpMemberDecorate = 72,
    OpCompositeExtract = 81,
};
constexpr uint32_t DecorationSpecId = 1;
constexpr uint32_t DecorationNonWritable = 24;
constexpr uint32_t DecorationBinding = 33;
constexpr uint32_t StorageClassUniform = 2;
constexpr uint32_t StorageClassStorageBuffer = 12;
constexpr uint32_t kHeaderWords = 5;

// The module as it is written, the number of words up to the last decoration, the id of its bool type, and whether its
// uniform buffer becomes a storage buffer: the dispatch does not bind it, so it goes to the binding of a storage
// buffer.
struct FoldedModule {
    uint32_t* words;
    uint32_t count;
    uint32_t decorated;
    uint32_t bool_type;
    bool stores_uniform;
};

const uint32_t* endOf(const FoldedModule& m) { return m.words + m.count; }
uint32_t opcodeOf(const uint32_t* instruction) { return instruction[0] & 0xFFFFu; }
uint32_t lengthOf(const uint32_t* instruction) { return instruction[0] >> 16; }

void appendWords(FoldedModule* m, const uint32_t* words, uint32_t count) {
    memcpy(m->words + m->count, words, count * sizeof(uint32_t));
    m->count += count;
}

// Returns the constant of a result id, among those written already, or null. Constants stand behind all decorations.
const uint32_t* findConstant(const FoldedModule& m, uint32_t id) {
    for (const uint32_t* at = m.words + m.decorated; at < endOf(m); at += lengthOf(at))
        if (opcodeOf(at) >= OpConstantTrue && opcodeOf(at) <= OpConstantComposite && at[2] == id) return at;
    return nullptr;
}

// Reads a scalar constant. Returns false for an id that is none.
bool readConstant(const FoldedModule& m, uint32_t id, uint32_t* value) {
    const uint32_t* constant = findConstant(m, id);
    if (constant == nullptr || opcodeOf(constant) == OpConstantComposite) return false;
    *value = opcodeOf(constant) == OpConstant ? constant[3] : opcodeOf(constant) == OpConstantTrue;
    return true;
}

// The operations that glslang makes of integers and booleans.
struct Operation {
    uint32_t opcode;
    uint32_t (*fold)(uint32_t a, uint32_t b, uint32_t c);
};
#define ROPE_FOLD(expression)                                                                                          \
    [](uint32_t a, [[maybe_unused]] uint32_t b, [[maybe_unused]] uint32_t c) -> uint32_t { return expression; }
constexpr Operation kOperations[] = {
    {126, ROPE_FOLD(0 - a)},               // OpSNegate
    {128, ROPE_FOLD(a + b)},               // OpIAdd
    {130, ROPE_FOLD(a - b)},               // OpISub
    {132, ROPE_FOLD(a* b)},                // OpIMul
    {134, ROPE_FOLD(b != 0 ? a / b : 0)},  // OpUDiv
    {137, ROPE_FOLD(b != 0 ? a % b : 0)},  // OpUMod
    {166, ROPE_FOLD(a | b)},               // OpLogicalOr
    {167, ROPE_FOLD(a& b)},                // OpLogicalAnd
    {168, ROPE_FOLD(a == 0)},              // OpLogicalNot
    {169, ROPE_FOLD(a != 0 ? b : c)},      // OpSelect
    {170, ROPE_FOLD(a == b)},              // OpIEqual
    {171, ROPE_FOLD(a != b)},              // OpINotEqual
    {172, ROPE_FOLD(a > b)},               // OpUGreaterThan
    {174, ROPE_FOLD(a >= b)},              // OpUGreaterThanEqual
    {178, ROPE_FOLD(a <= b)},              // OpULessThanEqual
    {194, ROPE_FOLD(b < 32 ? a >> b : 0)}, // OpShiftRightLogical
    {196, ROPE_FOLD(b < 32 ? a << b : 0)}, // OpShiftLeftLogical
    {197, ROPE_FOLD(a | b)},               // OpBitwiseOr
    {199, ROPE_FOLD(a& b)},                // OpBitwiseAnd
};
#undef ROPE_FOLD

// Computes the value of an OpSpecConstantOp. Returns false for an operation that is not known.
bool foldInstruction(const FoldedModule& m, const uint32_t* instruction, uint32_t* value) {
    const uint32_t length = lengthOf(instruction);
    if (instruction[3] == OpCompositeExtract) {
        const uint32_t* composite = findConstant(m, instruction[4]);
        return composite != nullptr && length == 6 && readConstant(m, composite[3 + instruction[5]], value);
    }
    uint32_t operands[3] = {0, 0, 0};
    if (length > 7) return false;
    for (uint32_t i = 4; i < length; ++i)
        if (!readConstant(m, instruction[i], &operands[i - 4])) return false;
    for (const Operation& operation : kOperations) {
        if (operation.opcode != instruction[3]) continue;
        *value = operation.fold(operands[0], operands[1], operands[2]);
        return true;
    }
    return false;
}

void appendConstant(FoldedModule* m, uint32_t type, uint32_t id, uint32_t value) {
    uint32_t words[4] = {4u << 16 | OpConstant, type, id, value};
    if (type == m->bool_type) words[0] = 3u << 16 | (value != 0 ? OpConstantTrue : OpConstantFalse);
    appendWords(m, words, lengthOf(words));
}

// Returns the constant id that decorates a result id. Decorations stand before all constants.
uint32_t specializationId(const RopeShader& shader, uint32_t id) {
    const uint32_t* last = shader.words + shader.bytes / 4;
    for (const uint32_t* at = shader.words + kHeaderWords; at < last && opcodeOf(at) != OpFunction; at += lengthOf(at))
        if (opcodeOf(at) == OpDecorate && at[1] == id && at[2] == DecorationSpecId) return at[3];
    return ROPE_CONSTANT_COUNT;
}

// Returns the binding of a buffer. A buffer that the dispatch does not bind stands only in code that a constant rules
// out. A buffer that is read goes to the first binding that the dispatch has. A buffer that is written goes to
// the destination, which every dispatch has: elsewhere validation would see a write of what other dispatches read.
uint32_t boundInstead(const RopeDispatch& dispatch, uint32_t binding) {
    if (dispatch.bindings[binding].range != 0) return binding;
    const bool written = binding > ROPE_BINDING_DESTINATION && binding <= ROPE_BINDING_DESTINATION_V;
    uint32_t first = written ? ROPE_BINDING_DESTINATION : 0;
    while (first < ROPE_BINDING_DESTINATION && dispatch.bindings[first].range == 0) ++first;
    return first;
}

// True if what is only read goes to the buffer that is written. It is then not declared as only read: MSL that is made
// of such a module would have a pointer to constants for both.
bool readsDestination(const RopeDispatch& dispatch) {
    return boundInstead(dispatch, ROPE_BINDING_POSITIONS) == ROPE_BINDING_DESTINATION;
}

// Appends an instruction that names a storage class at a place.
void appendWithClass(const uint32_t* at, uint32_t place, FoldedModule* m) {
    const uint32_t length = lengthOf(at);
    appendWords(m, at, length);
    if (at[place] == StorageClassUniform && m->stores_uniform)
        m->words[m->count - length + place] = StorageClassStorageBuffer;
}

// Appends the binding that the dispatch has for a buffer.
void appendBinding(const RopeDispatch& dispatch, const uint32_t* at, FoldedModule* m) {
    appendWords(m, at, 4);
    m->words[m->count - 1] = boundInstead(dispatch, at[3]);
    if (at[3] != ROPE_BINDING_UNIFORM || dispatch.bindings[ROPE_BINDING_UNIFORM].range != 0) return;
    m->stores_uniform = true;
    if (readsDestination(dispatch)) return;
    const uint32_t only_read[] = {3u << 16 | OpDecorate, at[1], DecorationNonWritable};
    appendWords(m, only_read, 3); // the constants' own decorations, which are gone, left more room
}

// Appends one instruction, folded if it is a specialization constant. Returns false for an instruction that cannot be
// folded.
bool appendInstruction(const RopeDispatch& dispatch, const uint32_t* at, FoldedModule* m) {
    uint32_t value = 0;
    switch (opcodeOf(at)) {
    case OpTypeBool:
        m->bool_type = at[1];
        break;
    case OpTypePointer:
        appendWithClass(at, 2, m);
        return true;
    case OpVariable:
        appendWithClass(at, 3, m);
        return true;
    case OpDecorate:
        if (at[2] == DecorationSpecId) return true;
        if (at[2] != DecorationBinding) break;
        appendBinding(dispatch, at, m);
        return true;
    case OpMemberDecorate:
        if (at[3] == DecorationNonWritable && readsDestination(dispatch)) return true;
        break;
    case OpSpecConstant:
        value = specializationId(*dispatch.shader, at[2]);
        if (value >= ROPE_CONSTANT_COUNT) return false;
        appendConstant(m, at[1], at[2], dispatch.constants[value]);
        return true;
    case OpSpecConstantComposite:
        appendWords(m, at, lengthOf(at));
        m->words[m->count - lengthOf(at)] = lengthOf(at) << 16 | OpConstantComposite;
        return true;
    case OpSpecConstantOp:
        if (!foldInstruction(*m, at, &value)) return false;
        appendConstant(m, at[1], at[2], value);
        return true;
    default:
        break;
    }
    appendWords(m, at, lengthOf(at));
    return true;
}

} // namespace

size_t ropeSpecialize(const RopeDispatch* dispatch, uint32_t* words) {
    if (dispatch == nullptr || dispatch->shader == nullptr || words == nullptr) return 0;
    const RopeShader* shader = dispatch->shader;
    FoldedModule m = {words, 0, kHeaderWords, 0, false};
    const uint32_t* last = shader->words + shader->bytes / 4;
    appendWords(&m, shader->words, kHeaderWords);
    const uint32_t* at = shader->words + kHeaderWords;
    for (; at < last && opcodeOf(at) != OpFunction; at += lengthOf(at)) {
        if (!appendInstruction(*dispatch, at, &m)) return 0;
        if (opcodeOf(at) == OpDecorate || opcodeOf(at) == OpMemberDecorate) m.decorated = m.count;
    }
    appendWords(&m, at, static_cast<uint32_t>(last - at));
    return m.count * sizeof(uint32_t);
}
