// A shader with its specialization constants folded in: a few kinds of SPIR-V instruction, found and rewritten.
#include "rope.h"

#include <string.h>

namespace {

enum Op : uint32_t {
    kTypeBool = 20,
    kConstantTrue = 41,
    kConstantFalse = 42,
    kConstant = 43,
    kConstantComposite = 44,
    kSpecConstant = 50,
    kSpecConstantComposite = 51,
    kSpecConstantOp = 52,
    kFunction = 54,
    kDecorate = 71,
};
constexpr uint32_t kSpecId = 1;
constexpr uint32_t kHeaderWords = 5;

struct Module {
    uint32_t* words;
    uint32_t count;
    uint32_t bool_type;
};

const uint32_t* end(const Module& m) { return m.words + m.count; }
uint32_t opOf(const uint32_t* instruction) { return instruction[0] & 0xFFFFu; }
uint32_t lengthOf(const uint32_t* instruction) { return instruction[0] >> 16; }

void append(Module* m, const uint32_t* words, uint32_t count) {
    memcpy(m->words + m->count, words, count * sizeof(uint32_t));
    m->count += count;
}

// Where a constant that is written already has its result id.
const uint32_t* find(const Module& m, uint32_t id) {
    for (const uint32_t* at = m.words + kHeaderWords; at < end(m); at += lengthOf(at)) {
        if (opOf(at) >= kConstantTrue && opOf(at) <= kConstantComposite && at[2] == id) return at;
    }
    return nullptr;
}

bool read(const Module& m, uint32_t id, uint32_t* value) {
    const uint32_t* constant = find(m, id);
    if (constant == nullptr || opOf(constant) == kConstantComposite) return false;
    *value = opOf(constant) == kConstant ? constant[3] : opOf(constant) == kConstantTrue;
    return true;
}

// What glslang makes of integers and booleans, by the numbers of their opcodes.
bool compute(uint32_t op, uint32_t a, uint32_t b, uint32_t c, uint32_t* value) {
    switch (op) {
    case 126:
        *value = 0 - a;
        return true;
    case 128:
        *value = a + b;
        return true;
    case 130:
        *value = a - b;
        return true;
    case 132:
        *value = a * b;
        return true;
    case 134:
        *value = b != 0 ? a / b : 0;
        return true;
    case 137:
        *value = b != 0 ? a % b : 0;
        return true;
    case 166:
        *value = a | b;
        return true; // logical
    case 167:
        *value = a & b;
        return true;
    case 168:
        *value = a == 0;
        return true;
    case 169:
        *value = a != 0 ? b : c;
        return true;
    case 170:
        *value = a == b;
        return true;
    case 171:
        *value = a != b;
        return true;
    case 172:
        *value = a > b;
        return true;
    case 173:
        *value = static_cast<int32_t>(a) > static_cast<int32_t>(b);
        return true;
    case 174:
        *value = a >= b;
        return true;
    case 176:
        *value = a < b;
        return true;
    case 177:
        *value = static_cast<int32_t>(a) < static_cast<int32_t>(b);
        return true;
    case 178:
        *value = a <= b;
        return true;
    case 194:
        *value = b < 32 ? a >> b : 0;
        return true;
    case 196:
        *value = b < 32 ? a << b : 0;
        return true;
    case 197:
        *value = a | b;
        return true;
    case 199:
        *value = a & b;
        return true;
    default:
        return false;
    }
}

bool evaluate(const Module& m, const uint32_t* instruction, uint32_t* value) {
    constexpr uint32_t kCompositeExtract = 81;
    const uint32_t length = lengthOf(instruction);
    if (instruction[3] == kCompositeExtract) {
        const uint32_t* composite = find(m, instruction[4]);
        return composite != nullptr && length == 6 && read(m, composite[3 + instruction[5]], value);
    }
    uint32_t operands[3] = {0, 0, 0};
    if (length > 7) return false;
    for (uint32_t i = 4; i < length; ++i) {
        if (!read(m, instruction[i], &operands[i - 4])) return false;
    }
    return compute(instruction[3], operands[0], operands[1], operands[2], value);
}

void appendConstant(Module* m, uint32_t type, uint32_t id, uint32_t value) {
    if (type == m->bool_type) {
        const uint32_t words[3] = {3u << 16 | (value != 0 ? kConstantTrue : kConstantFalse), type, id};
        append(m, words, 3);
    } else {
        const uint32_t words[4] = {4u << 16 | kConstant, type, id, value};
        append(m, words, 4);
    }
}

// The constant id that decorates a result id; decorations stand before all constants.
uint32_t specId(const RopeShader& shader, uint32_t id) {
    const uint32_t* last = shader.words + shader.bytes / 4;
    for (const uint32_t* at = shader.words + kHeaderWords; at < last && opOf(at) != kFunction; at += lengthOf(at)) {
        if (opOf(at) == kDecorate && at[1] == id && at[2] == kSpecId) return at[3];
    }
    return ROPE_CONSTANT_COUNT;
}

bool appendFolded(const RopeShader& shader, const uint32_t* constants, const uint32_t* at, Module* m) {
    uint32_t value = 0;
    switch (opOf(at)) {
    case kTypeBool:
        m->bool_type = at[1];
        break;
    case kDecorate:
        if (at[2] == kSpecId) return true;
        break;
    case kSpecConstant:
        value = specId(shader, at[2]);
        if (value >= ROPE_CONSTANT_COUNT) return false;
        appendConstant(m, at[1], at[2], constants[value]);
        return true;
    case kSpecConstantComposite:
        append(m, at, lengthOf(at));
        m->words[m->count - lengthOf(at)] = lengthOf(at) << 16 | kConstantComposite;
        return true;
    case kSpecConstantOp:
        if (!evaluate(*m, at, &value)) return false;
        appendConstant(m, at[1], at[2], value);
        return true;
    default:
        break;
    }
    append(m, at, lengthOf(at));
    return true;
}

} // namespace

size_t ropeSpecialize(const RopeShader* shader, const uint32_t* constants, uint32_t* words) {
    if (shader == nullptr || constants == nullptr || words == nullptr) return 0;
    Module m = {words, 0, 0};
    const uint32_t* last = shader->words + shader->bytes / 4;
    append(&m, shader->words, kHeaderWords);
    const uint32_t* at = shader->words + kHeaderWords;
    for (; at < last && opOf(at) != kFunction; at += lengthOf(at)) {
        if (!appendFolded(*shader, constants, at, &m)) return 0;
    }
    append(&m, at, static_cast<uint32_t>(last - at));
    return m.count * sizeof(uint32_t);
}
