// Reads a SPIR-V module: its float operations, their decorations, and which values reach which sums.
#include "tool/contraction.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rope {
namespace {

enum Op : uint32_t {
    kName = 5,
    kString = 7,
    kLine = 8,
    kExtInstImport = 11,
    kExtInst = 12,
    kFunction = 54,
    kFunctionParameter = 55,
    kFunctionEnd = 56,
    kFunctionCall = 57,
    kVariable = 59,
    kLoad = 61,
    kStore = 62,
    kCopyMemory = 63,
    kAccessChain = 65,
    kInBoundsAccessChain = 66,
    kDecorate = 71,
    kGroupDecorate = 74,
    kVectorExtractDynamic = 77,
    kVectorInsertDynamic = 78,
    kVectorShuffle = 79,
    kCompositeConstruct = 80,
    kCompositeExtract = 81,
    kCompositeInsert = 82,
    kCopyObject = 83,
    kTranspose = 84,
    kBitcast = 124,
    kNegate = 127,
    kSelect = 169,
    kPhi = 245,
    kReturnValue = 254,
    kNoLine = 317,
    kCopyLogical = 400
};
constexpr uint32_t kMagic = 0x07230203, kNoContraction = 42;
constexpr uint32_t kHeaderWords = 5, kMostIds = 0x3FFFFF; // SPIR-V's own limit

// An operation is a product, a sum, or both in one.
enum class Kind { kProduct, kSum, kBoth };
struct Known {
    uint32_t op;
    const char* name;
    Kind kind;
};
constexpr Known kKnown[] = {
    {129, "OpFAdd", Kind::kSum},
    {131, "OpFSub", Kind::kSum},
    {133, "OpFMul", Kind::kProduct},
    {140, "OpFRem", Kind::kBoth},
    {141, "OpFMod", Kind::kBoth},
    {142, "OpVectorTimesScalar", Kind::kProduct},
    {143, "OpMatrixTimesScalar", Kind::kProduct},
    {144, "OpVectorTimesMatrix", Kind::kBoth},
    {145, "OpMatrixTimesVector", Kind::kBoth},
    {146, "OpMatrixTimesMatrix", Kind::kBoth},
    {147, "OpOuterProduct", Kind::kProduct},
    {148, "OpDot", Kind::kBoth},
};
// The functions of GLSL.std.450 that Vulkan derives from products and sums, by their numbers there. Others are exact,
// or their precision is the driver's choice.
constexpr Known kKnownOfGlsl[] = {
    {10, "Fract", Kind::kSum},        {11, "Radians", Kind::kProduct},    {12, "Degrees", Kind::kProduct},
    {33, "Determinant", Kind::kBoth}, {34, "MatrixInverse", Kind::kBoth}, {35, "Modf", Kind::kSum},
    {36, "ModfStruct", Kind::kSum},   {46, "FMix", Kind::kBoth},          {49, "SmoothStep", Kind::kBoth},
    {50, "Fma", Kind::kBoth},         {66, "Length", Kind::kBoth},        {67, "Distance", Kind::kBoth},
    {68, "Cross", Kind::kBoth},       {69, "Normalize", Kind::kBoth},     {70, "FaceForward", Kind::kBoth},
    {71, "Reflect", Kind::kBoth},     {72, "Refract", Kind::kBoth},
};
// Those whose result is one of their operands, or it without its sign or scaled by a power of two.
constexpr uint32_t kMovesOfGlsl[] = {
    4 /* FAbs */,   37 /* FMin */, 40 /* FMax */, 43 /* FClamp */,
    53 /* Ldexp */, 79 /* NMin */, 80 /* NMax */, 81 /* NClamp */
};

class Reader {
  public:
    explicit Reader(std::vector<uint32_t> words) : words_(std::move(words)) {}
    bool read(std::string* error);
    Arithmetic arithmetic() const;

  private:
    struct Operation {
        FloatOperation found;
        Kind kind = Kind::kSum;
        std::vector<uint32_t> operands;
        uint32_t function = 0;
    };
    struct Function {
        std::vector<uint32_t> parameters, results;
    };
    struct Call {
        uint32_t id, function;
        std::vector<uint32_t> arguments;
    };

    bool readHeader(std::string* error);
    void take();
    void takeName();
    void takeMemory();
    void takeFunction();
    void takeFloat();
    void passOn();
    void joinCalls();
    std::set<uint32_t> productsInSums() const;

    // Word i of the instruction; 0, which is no id, where it has none.
    uint32_t word(uint32_t i) const { return i < length_ ? words_[at_ + i] : 0; }
    uint32_t op() const { return words_[at_] & 0xFFFF; }
    // The number of a function of GLSL.std.450, and 0, which none has, for any other instruction.
    uint32_t glslFunction() const { return op() == kExtInst && glsl_ != 0 && word(3) == glsl_ ? word(4) : 0; }
    std::vector<uint32_t> from(uint32_t i) const;
    std::string text(uint32_t i) const;
    // The variable that a pointer points into.
    uint32_t rootOf(uint32_t pointer) const;
    void flow(uint32_t value, uint32_t to) { sources_[to].push_back(value); }

    std::vector<uint32_t> words_;
    size_t at_ = 0;
    uint32_t length_ = 0;
    uint32_t glsl_ = 0; // the import of GLSL.std.450
    uint32_t function_ = 0, file_ = 0, line_ = 0;
    std::map<uint32_t, std::string> names_, strings_;
    std::set<uint32_t> kept_, variables_;
    std::map<uint32_t, uint32_t> bases_;                // of pointers
    std::map<uint32_t, std::vector<uint32_t>> sources_; // what a value may have been before it was moved
    std::map<uint32_t, Function> functions_;
    std::vector<Call> calls_;
    std::vector<Operation> operations_;
};

std::vector<uint32_t> Reader::from(uint32_t i) const {
    std::vector<uint32_t> all;
    for (; i < length_; ++i) all.push_back(word(i));
    return all;
}

std::string Reader::text(uint32_t i) const {
    std::string all;
    for (; i < length_; ++i) {
        for (uint32_t shift = 0; shift < 32; shift += 8) {
            const char letter = static_cast<char>(word(i) >> shift);
            if (letter == '\0') return all;
            all += letter;
        }
    }
    return all;
}

uint32_t Reader::rootOf(uint32_t pointer) const {
    for (size_t steps = 0; steps <= bases_.size(); ++steps) { // a malformed module may go in a circle
        const auto base = bases_.find(pointer);
        if (base == bases_.end()) break;
        pointer = base->second;
    }
    return pointer;
}

bool Reader::readHeader(std::string* error) {
    const auto swapped = [](uint32_t w) { return w << 24 | (w & 0xFF00) << 8 | (w >> 8 & 0xFF00) | w >> 24; };
    if (words_.size() < kHeaderWords || (words_[0] != kMagic && words_[0] != swapped(kMagic))) {
        *error = "is no SPIR-V: it must begin with the word 0x07230203 and a header";
        return false;
    }
    if (words_[0] != kMagic) std::transform(words_.begin(), words_.end(), words_.begin(), swapped);
    if (words_[3] > kMostIds + 1) {
        *error = "is no SPIR-V: its header counts " + std::to_string(words_[3]) + " ids; SPIR-V has at most 4194303";
        return false;
    }
    return true;
}

bool Reader::read(std::string* error) {
    if (!readHeader(error)) return false;
    for (at_ = kHeaderWords; at_ < words_.size(); at_ += length_) {
        length_ = words_[at_] >> 16;
        if (length_ == 0 || length_ > words_.size() - at_) {
            *error = "is no whole SPIR-V: the instruction at word " + std::to_string(at_) + " says it has " +
                     std::to_string(length_) + " words, and " + std::to_string(words_.size() - at_) + " are left";
            return false;
        }
        take();
    }
    joinCalls();
    return true;
}

void Reader::take() {
    takeName();
    takeMemory();
    takeFunction();
    takeFloat();
    passOn();
}

void Reader::takeName() {
    switch (op()) {
    case kName:
        names_[word(1)] = text(2);
        break;
    case kString:
        strings_[word(1)] = text(2);
        break;
    case kExtInstImport:
        if (text(2) == "GLSL.std.450") glsl_ = word(1);
        break;
    case kDecorate:
        if (word(2) == kNoContraction) kept_.insert(word(1));
        break;
    case kGroupDecorate:
        for (const uint32_t id : from(2)) {
            if (kept_.count(word(1)) != 0) kept_.insert(id);
        }
        break;
    case kLine:
        file_ = word(1);
        line_ = word(2);
        break;
    case kNoLine:
    case kFunctionEnd:
        file_ = line_ = 0;
        break;
    default:
        break;
    }
}

// Variables of one function or thread: what is stored there may be what is loaded. Other memory is shared.
void Reader::takeMemory() {
    constexpr uint32_t kPrivate = 6, kOfFunction = 7;
    switch (op()) {
    case kVariable:
        if (word(3) == kPrivate || word(3) == kOfFunction) variables_.insert(word(2));
        break;
    case kAccessChain:
    case kInBoundsAccessChain:
        bases_[word(2)] = word(3);
        break;
    case kLoad:
        if (variables_.count(rootOf(word(3))) != 0) flow(rootOf(word(3)), word(2));
        break;
    case kStore:
        flow(word(2), rootOf(word(1)));
        break;
    case kCopyMemory:
        if (variables_.count(rootOf(word(2))) != 0) flow(rootOf(word(2)), rootOf(word(1)));
        break;
    default:
        break;
    }
}

void Reader::takeFunction() {
    switch (op()) {
    case kFunction:
        function_ = word(2);
        break;
    case kFunctionParameter:
        functions_[function_].parameters.push_back(word(2));
        variables_.insert(word(2));
        break;
    case kReturnValue:
        functions_[function_].results.push_back(word(1));
        break;
    case kFunctionCall:
        calls_.push_back({word(2), word(3), from(4)});
        break;
    default:
        break;
    }
}

void Reader::takeFloat() {
    const Known* known = nullptr;
    for (const Known& one : kKnown) {
        if (one.op == op()) known = &one;
    }
    const uint32_t function = glslFunction();
    for (const Known& one : kKnownOfGlsl) {
        if (one.op == function) known = &one;
    }
    if (known == nullptr) return;
    Operation operation;
    operation.found.id = word(2);
    operation.found.name = known->name;
    operation.found.line = line_;
    if (const auto file = strings_.find(file_); file != strings_.end()) operation.found.file = file->second;
    operation.kind = known->kind;
    operation.operands = from(function != 0 ? 5 : 3);
    operation.function = function_;
    operations_.push_back(operation);
}

// Instructions that move a value, whole or in parts, or change its sign, or choose one of several.
void Reader::passOn() {
    std::vector<uint32_t> moved;
    switch (op()) {
    case kVectorExtractDynamic:
    case kCompositeExtract:
    case kCopyObject:
    case kCopyLogical:
    case kTranspose:
    case kBitcast:
    case kNegate:
        moved = {word(3)};
        break;
    case kVectorInsertDynamic:
    case kVectorShuffle:
    case kCompositeInsert:
        moved = {word(3), word(4)};
        break;
    case kSelect:
        moved = {word(4), word(5)};
        break;
    case kCompositeConstruct:
        moved = from(3);
        break;
    case kExtInst:
        for (const uint32_t mover : kMovesOfGlsl) {
            if (mover == glslFunction()) moved = from(5);
        }
        break;
    case kPhi:
        for (uint32_t i = 3; i < length_; i += 2) moved.push_back(word(i));
        break;
    default:
        break;
    }
    for (const uint32_t value : moved) flow(value, word(2));
}

// Arguments become parameters, through pointers either way, and results what was called for.
void Reader::joinCalls() {
    for (const Call& call : calls_) {
        const Function& function = functions_[call.function];
        for (size_t i = 0; i < function.parameters.size() && i < call.arguments.size(); ++i) {
            const uint32_t argument = rootOf(call.arguments[i]);
            flow(argument, function.parameters[i]);
            if (variables_.count(argument) != 0) flow(function.parameters[i], argument);
        }
        for (const uint32_t result : function.results) flow(result, call.id);
    }
}

std::set<uint32_t> Reader::productsInSums() const {
    std::set<uint32_t> seen, taken;
    std::vector<uint32_t> open;
    for (const Operation& operation : operations_) {
        if (operation.kind != Kind::kProduct)
            open.insert(open.end(), operation.operands.begin(), operation.operands.end());
    }
    while (!open.empty()) {
        const uint32_t id = open.back();
        open.pop_back();
        if (!seen.insert(id).second) continue;
        taken.insert(id);
        if (const auto moved = sources_.find(id); moved != sources_.end())
            open.insert(open.end(), moved->second.begin(), moved->second.end());
    }
    return taken;
}

Arithmetic Reader::arithmetic() const {
    Arithmetic all;
    const std::set<uint32_t> taken = productsInSums();
    for (const Operation& operation : operations_) {
        ++all.operations;
        if (kept_.count(operation.found.id) != 0) continue;
        FloatOperation found = operation.found;
        if (const auto name = names_.find(operation.function); name != names_.end())
            found.function = name->second.substr(0, name->second.find('('));
        found.fusible =
            operation.kind == Kind::kBoth || (operation.kind == Kind::kProduct && taken.count(found.id) != 0);
        all.loose.push_back(found);
    }
    return all;
}

} // namespace

bool readArithmetic(std::vector<uint32_t> words, Arithmetic* arithmetic, std::string* error) {
    Reader reader(std::move(words));
    if (!reader.read(error)) return false;
    *arithmetic = reader.arithmetic();
    return true;
}

} // namespace rope
