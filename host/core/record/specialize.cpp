// This file folds the specialization constants into a shader, and takes from it the bindings that a dispatch does not
// have, and the code that the constants rule out: a few kinds of SPIR-V instruction are found and rewritten.
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
    OpFunctionEnd = 56,
    OpVariable = 59,
    OpDecorate = 71,
    OpMemberDecorate = 72,
    OpCompositeExtract = 81,
    OpSNegate = 126, // the first of the operations that can be precise, and the last:
    OpDot = 148,
    OpPhi = 245,
    OpLoopMerge = 246,
    OpSelectionMerge = 247,
    OpLabel = 248,
    OpBranch = 249,
    OpBranchConditional = 250,
    OpSwitch = 251,
    OpUnreachable = 255,
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

// Gives a copied decoration the binding that the dispatch has for its buffer.
void rebind(const RopeDispatch& dispatch, uint32_t* decoration, FoldedModule* m) {
    const uint32_t binding = decoration[3];
    decoration[3] = boundInstead(dispatch, binding);
    if (binding != ROPE_BINDING_UNIFORM || dispatch.bindings[ROPE_BINDING_UNIFORM].range != 0) return;
    m->stores_uniform = true;
    if (readsDestination(dispatch)) return;
    const uint32_t only_read[] = {3u << 16 | OpDecorate, decoration[1], DecorationNonWritable};
    appendWords(m, only_read, 3); // the constants' own decorations, which are gone, left more room
}

// Appends one instruction, folded if it is a specialization constant. Returns false for an instruction that cannot be
// folded.
bool appendInstruction(const RopeDispatch& dispatch, const uint32_t* at, FoldedModule* m) {
    const uint32_t opcode = opcodeOf(at);
    if (opcode == OpDecorate && at[2] == DecorationSpecId) return true;
    if (opcode == OpMemberDecorate && at[3] == DecorationNonWritable && readsDestination(dispatch)) return true;
    if (opcode == OpSpecConstant) {
        const uint32_t id = specializationId(*dispatch.shader, at[2]);
        if (id < ROPE_CONSTANT_COUNT) appendConstant(m, at[1], at[2], dispatch.constants[id]);
        return id < ROPE_CONSTANT_COUNT;
    }
    if (opcode == OpSpecConstantOp) {
        uint32_t value = 0;
        const bool known = foldInstruction(*m, at, &value);
        if (known) appendConstant(m, at[1], at[2], value);
        return known;
    }
    uint32_t* copy = m->words + m->count;
    appendWords(m, at, lengthOf(at));
    if (opcode == OpTypeBool) m->bool_type = at[1];
    if (opcode == OpSpecConstantComposite) copy[0] = lengthOf(at) << 16 | OpConstantComposite;
    if (opcode == OpDecorate && at[2] == DecorationBinding) rebind(dispatch, copy, m);
    const bool has_class = opcode == OpTypePointer || opcode == OpVariable;
    uint32_t* storage_class = copy + (opcode == OpTypePointer ? 2 : 3);
    if (has_class && *storage_class == StorageClassUniform && m->stores_uniform)
        *storage_class = StorageClassStorageBuffer;
    return true;
}

// ---- Code that the constants rule out

constexpr uint32_t kMostIds = 1u << 17; // of a shader

// The functions of a shader. A branch by a constant has one way, and its other way is closed. The closed ways stand
// behind all words that will be written: the block that ends in the branch, and the block that it never goes to. There
// is room for them, because each such branch will take at least two words less. A bit tells of an id that it is a block
// that nothing reaches, or the result of an operation there.
struct Code {
    const uint32_t* begin;
    const uint32_t* end;
    uint32_t* closed_ways;
    uint32_t closed_count;
    uint32_t gone[kMostIds / 32];
};

bool isGone(const Code& c, uint32_t id) { return (c.gone[id / 32] >> id % 32 & 1u) != 0; }
void setGone(uint32_t id, bool gone, Code* c) {
    const uint32_t bit = 1u << id % 32;
    c->gone[id / 32] = gone ? c->gone[id / 32] | bit : c->gone[id / 32] & ~bit;
}

bool isClosed(const Code& c, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < 2 * c.closed_count; i += 2)
        if (c.closed_ways[i] == from && c.closed_ways[i + 1] == to) return true;
    return false;
}
bool hasOneWay(const Code& c, uint32_t block, const uint32_t* at) {
    return opcodeOf(at) == OpBranchConditional && (isClosed(c, block, at[2]) || isClosed(c, block, at[3]));
}

void closeWays(const FoldedModule& m, Code* c) {
    uint32_t block = 0, condition = 0;
    for (const uint32_t* at = c->begin; at < c->end; at += lengthOf(at)) {
        if (opcodeOf(at) == OpLabel) block = at[1];
        if (opcodeOf(at) != OpBranchConditional || at[2] == at[3] || !readConstant(m, at[1], &condition)) continue;
        c->closed_ways -= 2;
        ++c->closed_count;
        c->closed_ways[0] = block;
        c->closed_ways[1] = at[condition != 0 ? 3 : 2];
    }
}

// True if a word of an instruction names a block that may follow. A loop names its last block, which it keeps.
bool namesNext(const uint32_t* at, uint32_t word) {
    const uint32_t opcode = opcodeOf(at);
    return (opcode == OpBranch && word == 1) || (opcode == OpLoopMerge && word == 2) ||
           (opcode == OpBranchConditional && (word == 2 || word == 3)) ||
           (opcode == OpSwitch && word >= 2 && word % 2 == 0);
}

// Reaches blocks from those that are reached. Returns true if one of them was gone.
bool reachBlocks(Code* c) {
    bool found = false, is_first = false;
    uint32_t block = 0;
    for (const uint32_t* at = c->begin; at < c->end; at += lengthOf(at)) {
        if (opcodeOf(at) == OpFunction) is_first = true;
        if (opcodeOf(at) == OpLabel) {
            block = at[1];
            if (is_first) setGone(block, false, c);
            is_first = false;
        }
        for (uint32_t i = 1; i < lengthOf(at); ++i) {
            if (!namesNext(at, i) || isGone(*c, block) || !isGone(*c, at[i]) || isClosed(*c, block, at[i])) continue;
            setGone(at[i], false, c);
            found = true;
        }
    }
    return found;
}

void findGone(Code* c) {
    for (const uint32_t* at = c->begin; at < c->end; at += lengthOf(at))
        if (opcodeOf(at) == OpLabel) setGone(at[1], true, c);
    while (reachBlocks(c)) {
    }
    bool gone = false;
    for (const uint32_t* at = c->begin; at < c->end; at += lengthOf(at)) {
        if (opcodeOf(at) == OpLabel) gone = isGone(*c, at[1]);
        if (opcodeOf(at) >= OpSNegate && opcodeOf(at) <= OpDot) setGone(at[2], gone, c);
    }
}

// Takes out the decorations of results that are gone.
void dropDecorations(const Code& c, FoldedModule* m) {
    const uint32_t* end = endOf(*m);
    m->count = kHeaderWords;
    for (const uint32_t *at = m->words + kHeaderWords, *next; at < end; at = next) {
        const uint32_t length = lengthOf(at);
        next = at + length;
        if (opcodeOf(at) == OpDecorate && isGone(c, at[1])) continue;
        memmove(m->words + m->count, at, length * sizeof(uint32_t));
        m->count += length;
    }
}

// Appends the values that still come in, each with its block.
void appendPhi(const Code& c, uint32_t block, const uint32_t* at, FoldedModule* m) {
    const uint32_t begin = m->count;
    appendWords(m, at, 3);
    for (uint32_t i = 3; i < lengthOf(at); i += 2)
        if (!isGone(c, at[i + 1]) && !isClosed(c, at[i + 1], block)) appendWords(m, at + i, 2);
    m->words[begin] = (m->count - begin) << 16 | OpPhi;
}

// Appends a block's instruction, and behind its last one the empty block that it names and that nothing reaches.
void appendInBlock(const Code& c, uint32_t block, const uint32_t* at, uint32_t* merge, FoldedModule* m) {
    if (opcodeOf(at) == OpPhi) return appendPhi(c, block, at, m);
    if (opcodeOf(at) == OpSelectionMerge && hasOneWay(c, block, at + lengthOf(at))) return;
    if (opcodeOf(at) == OpSelectionMerge || opcodeOf(at) == OpLoopMerge) *merge = at[1];
    if (hasOneWay(c, block, at)) {
        const uint32_t branch[] = {2u << 16 | OpBranch, at[isClosed(c, block, at[2]) ? 3 : 2]};
        appendWords(m, branch, 2);
    } else {
        appendWords(m, at, lengthOf(at));
    }
    if (opcodeOf(at) < OpBranch || opcodeOf(at) > OpUnreachable || *merge == 0) return;
    const uint32_t empty[] = {2u << 16 | OpLabel, *merge, 1u << 16 | OpUnreachable};
    if (isGone(c, *merge)) appendWords(m, empty, 3);
    *merge = 0;
}

void appendCode(const Code& c, FoldedModule* m) {
    uint32_t block = 0, merge = 0; // 0: none
    for (const uint32_t* at = c.begin; at < c.end; at += lengthOf(at)) {
        if (opcodeOf(at) == OpLabel) block = at[1];
        if (opcodeOf(at) == OpFunctionEnd) block = 0;
        if (block == 0)
            appendWords(m, at, lengthOf(at));
        else if (!isGone(c, block))
            appendInBlock(c, block, at, &merge, m);
    }
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
    Code code = {at, last, words + shader->bytes / 4, 0, {}};
    if (shader->words[3] > kMostIds) return 0; // the shader's bound of ids
    closeWays(m, &code);
    findGone(&code);
    dropDecorations(code, &m);
    appendCode(code, &m);
    return m.count * sizeof(uint32_t);
}
