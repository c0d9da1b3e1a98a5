// Reads a SPIR-V module: its float operations, their decorations, and the values that reach sums.
//
// To let a shader fuse arithmetic of its own: its name in tests/program/check/contraction_test.cpp.
#include "program/check/contraction.hpp"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.hpp11>

#include <algorithm>
#include <map>
#include <set>

namespace rope {
namespace {

using spv::Op;

constexpr uint32_t kHeaderWords = 5, kMaxIds = 0x3FFFFF; // kMaxIds is SPIR-V's own limit

// An operation is a product, a sum, or both in one.
enum class ArithmeticKind { kProduct, kSum, kBoth };
struct ArithmeticOp {
    uint32_t number;
    const char* name;
    ArithmeticKind kind;
};
constexpr ArithmeticOp operation(Op op, const char* name, ArithmeticKind kind) {
    return {static_cast<uint32_t>(op), name, kind};
}
constexpr ArithmeticOp kArithmeticOps[] = {
    operation(Op::OpFAdd, "OpFAdd", ArithmeticKind::kSum),
    operation(Op::OpFSub, "OpFSub", ArithmeticKind::kSum),
    operation(Op::OpFMul, "OpFMul", ArithmeticKind::kProduct),
    operation(Op::OpFRem, "OpFRem", ArithmeticKind::kBoth),
    operation(Op::OpFMod, "OpFMod", ArithmeticKind::kBoth),
    operation(Op::OpVectorTimesScalar, "OpVectorTimesScalar", ArithmeticKind::kProduct),
    operation(Op::OpMatrixTimesScalar, "OpMatrixTimesScalar", ArithmeticKind::kProduct),
    operation(Op::OpVectorTimesMatrix, "OpVectorTimesMatrix", ArithmeticKind::kBoth),
    operation(Op::OpMatrixTimesVector, "OpMatrixTimesVector", ArithmeticKind::kBoth),
    operation(Op::OpMatrixTimesMatrix, "OpMatrixTimesMatrix", ArithmeticKind::kBoth),
    operation(Op::OpOuterProduct, "OpOuterProduct", ArithmeticKind::kProduct),
    operation(Op::OpDot, "OpDot", ArithmeticKind::kBoth),
};
// The functions of GLSL.std.450 that Vulkan derives from products and sums. The others are exact, or their precision is
// the driver's choice.
constexpr ArithmeticOp kGlslArithmetic[] = {
    {GLSLstd450Fract, "Fract", ArithmeticKind::kSum},
    {GLSLstd450Radians, "Radians", ArithmeticKind::kProduct},
    {GLSLstd450Degrees, "Degrees", ArithmeticKind::kProduct},
    {GLSLstd450Determinant, "Determinant", ArithmeticKind::kBoth},
    {GLSLstd450MatrixInverse, "MatrixInverse", ArithmeticKind::kBoth},
    {GLSLstd450Modf, "Modf", ArithmeticKind::kSum},
    {GLSLstd450ModfStruct, "ModfStruct", ArithmeticKind::kSum},
    {GLSLstd450FMix, "FMix", ArithmeticKind::kBoth},
    {GLSLstd450SmoothStep, "SmoothStep", ArithmeticKind::kBoth},
    {GLSLstd450Fma, "Fma", ArithmeticKind::kBoth},
    {GLSLstd450Length, "Length", ArithmeticKind::kBoth},
    {GLSLstd450Distance, "Distance", ArithmeticKind::kBoth},
    {GLSLstd450Cross, "Cross", ArithmeticKind::kBoth},
    {GLSLstd450Normalize, "Normalize", ArithmeticKind::kBoth},
    {GLSLstd450FaceForward, "FaceForward", ArithmeticKind::kBoth},
    {GLSLstd450Reflect, "Reflect", ArithmeticKind::kBoth},
    {GLSLstd450Refract, "Refract", ArithmeticKind::kBoth},
};
// Functions whose result is one of their operands, perhaps without its sign or scaled by a power of two.
constexpr uint32_t kGlslMoves[] = {GLSLstd450FAbs,  GLSLstd450FMin, GLSLstd450FMax, GLSLstd450FClamp,
                                   GLSLstd450Ldexp, GLSLstd450NMin, GLSLstd450NMax, GLSLstd450NClamp};

class ContractionReader {
  public:
    explicit ContractionReader(std::vector<uint32_t> words) : words_(std::move(words)) {}
    bool read(std::string* error);
    Arithmetic arithmetic() const;

  private:
    struct Operation {
        FloatOperation result;
        ArithmeticKind kind = ArithmeticKind::kSum;
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

    void readInstruction();
    void readName();
    void readMemory();
    void readFunction();
    void readFloatOperation();
    void readMove();
    void joinCalls();
    std::set<uint32_t> productsInSums() const;

    // Returns word i of the instruction; 0, which is no id, if the instruction is shorter.
    uint32_t word(uint32_t i) const { return i < length_ ? words_[at_ + i] : 0; }
    Op op() const { return static_cast<Op>(words_[at_] & spv::OpCodeMask); }
    // Returns the number of a function of GLSL.std.450; 0, which no function has, for any other instruction.
    uint32_t glslFunction() const { return op() == Op::OpExtInst && glsl_ != 0 && word(3) == glsl_ ? word(4) : 0; }
    std::vector<uint32_t> wordsFrom(uint32_t i) const;
    std::string text(uint32_t i) const { return textOf(&words_[at_] + std::min(i, length_), &words_[at_] + length_); }
    // Returns the variable that a pointer points into.
    uint32_t variableOf(uint32_t pointer) const;
    void addFlow(uint32_t value, uint32_t to) { sources_[to].push_back(value); }

    std::vector<uint32_t> words_;
    size_t at_ = 0;
    uint32_t length_ = 0;
    uint32_t glsl_ = 0; // the import of GLSL.std.450
    uint32_t function_ = 0, file_ = 0, line_ = 0;
    std::map<uint32_t, std::string> names_, strings_;
    std::set<uint32_t> decorated_, variables_;
    std::map<uint32_t, uint32_t> bases_;                // the pointer that a pointer was made from
    std::map<uint32_t, std::vector<uint32_t>> sources_; // the values that a value may have been moved from
    std::map<uint32_t, Function> functions_;
    std::vector<Call> calls_;
    std::vector<Operation> operations_;
};

std::vector<uint32_t> ContractionReader::wordsFrom(uint32_t i) const {
    std::vector<uint32_t> all;
    for (; i < length_; ++i) all.push_back(word(i));
    return all;
}

uint32_t ContractionReader::variableOf(uint32_t pointer) const {
    const auto base = bases_.find(pointer);
    return base != bases_.end() ? base->second : pointer;
}

bool ContractionReader::read(std::string* error) {
    const auto visit = [this](size_t at, uint32_t length) {
        at_ = at;
        length_ = length;
        readInstruction();
    };
    if (!visitInstructions(&words_, visit, error)) return false;
    joinCalls();
    return true;
}

void ContractionReader::readInstruction() {
    readName();
    readMemory();
    readFunction();
    readFloatOperation();
    readMove();
}

void ContractionReader::readName() {
    switch (op()) {
    case Op::OpName:
        names_[word(1)] = text(2);
        break;
    case Op::OpString:
        strings_[word(1)] = text(2);
        break;
    case Op::OpExtInstImport:
        if (text(2) == "GLSL.std.450") glsl_ = word(1);
        break;
    case Op::OpDecorate:
        if (word(2) == static_cast<uint32_t>(spv::Decoration::NoContraction)) decorated_.insert(word(1));
        break;
    case Op::OpGroupDecorate:
        for (const uint32_t id : wordsFrom(2)) {
            if (decorated_.count(word(1)) != 0) decorated_.insert(id);
        }
        break;
    case Op::OpLine:
        file_ = word(1);
        line_ = word(2);
        break;
    case Op::OpNoLine:
    case Op::OpFunctionEnd:
        file_ = line_ = 0;
        break;
    default:
        break;
    }
}

// A load from a variable of one function or thread may give any value that was stored there. Other memory is shared.
void ContractionReader::readMemory() {
    switch (op()) {
    case Op::OpVariable:
        if (word(3) == static_cast<uint32_t>(spv::StorageClass::Private) ||
            word(3) == static_cast<uint32_t>(spv::StorageClass::Function))
            variables_.insert(word(2));
        break;
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain:
        if (variableOf(word(3)) != word(2)) bases_[word(2)] = variableOf(word(3)); // no chain grows, and no circle
        break;
    case Op::OpLoad:
        if (variables_.count(variableOf(word(3))) != 0) addFlow(variableOf(word(3)), word(2));
        break;
    case Op::OpStore:
        addFlow(word(2), variableOf(word(1)));
        break;
    case Op::OpCopyMemory:
        if (variables_.count(variableOf(word(2))) != 0) addFlow(variableOf(word(2)), variableOf(word(1)));
        break;
    default:
        break;
    }
}

void ContractionReader::readFunction() {
    switch (op()) {
    case Op::OpFunction:
        function_ = word(2);
        break;
    case Op::OpFunctionParameter:
        functions_[function_].parameters.push_back(word(2));
        variables_.insert(word(2));
        break;
    case Op::OpReturnValue:
        functions_[function_].results.push_back(word(1));
        break;
    case Op::OpFunctionCall:
        calls_.push_back({word(2), word(3), wordsFrom(4)});
        break;
    default:
        break;
    }
}

void ContractionReader::readFloatOperation() {
    const ArithmeticOp* arithmetic_op = nullptr;
    for (const ArithmeticOp& candidate : kArithmeticOps) {
        if (candidate.number == static_cast<uint32_t>(op())) arithmetic_op = &candidate;
    }
    const uint32_t function = glslFunction();
    for (const ArithmeticOp& candidate : kGlslArithmetic) {
        if (candidate.number == function) arithmetic_op = &candidate;
    }
    if (arithmetic_op == nullptr) return;
    Operation operation;
    operation.result.id = word(2);
    operation.result.name = arithmetic_op->name;
    operation.result.line = line_;
    if (const auto file = strings_.find(file_); file != strings_.end()) operation.result.file = file->second;
    operation.kind = arithmetic_op->kind;
    operation.operands = wordsFrom(function != 0 ? 5 : 3);
    operation.function = function_;
    operations_.push_back(operation);
}

// These instructions move a value, whole or in parts, or change its sign, or choose one of several.
void ContractionReader::readMove() {
    std::vector<uint32_t> moved;
    switch (op()) {
    case Op::OpVectorExtractDynamic:
    case Op::OpCompositeExtract:
    case Op::OpCopyObject:
    case Op::OpCopyLogical:
    case Op::OpTranspose:
    case Op::OpBitcast:
    case Op::OpFNegate:
        moved = {word(3)};
        break;
    case Op::OpVectorInsertDynamic:
    case Op::OpVectorShuffle:
    case Op::OpCompositeInsert:
        moved = {word(3), word(4)};
        break;
    case Op::OpSelect:
        moved = {word(4), word(5)};
        break;
    case Op::OpCompositeConstruct:
        moved = wordsFrom(3);
        break;
    case Op::OpExtInst:
        for (const uint32_t mover : kGlslMoves) {
            if (mover == glslFunction()) moved = wordsFrom(5);
        }
        break;
    case Op::OpPhi:
        for (uint32_t i = 3; i < length_; i += 2) moved.push_back(word(i));
        break;
    default:
        break;
    }
    for (const uint32_t value : moved) addFlow(value, word(2));
}

// Arguments flow into parameters, through pointers either way. Results flow to the function's id, and from there to its
// calls: a function of many results that is called often has no flow for each pair.
void ContractionReader::joinCalls() {
    for (const auto& function : functions_) {
        for (const uint32_t result : function.second.results) addFlow(result, function.first);
    }
    for (const Call& call : calls_) {
        const Function& function = functions_[call.function];
        for (size_t i = 0; i < function.parameters.size() && i < call.arguments.size(); ++i) {
            const uint32_t argument = variableOf(call.arguments[i]);
            addFlow(argument, function.parameters[i]);
            if (variables_.count(argument) != 0) addFlow(function.parameters[i], argument);
        }
        addFlow(call.function, call.id);
    }
}

std::set<uint32_t> ContractionReader::productsInSums() const {
    std::set<uint32_t> seen, reaching;
    std::vector<uint32_t> open;
    for (const Operation& operation : operations_) {
        if (operation.kind != ArithmeticKind::kProduct)
            open.insert(open.end(), operation.operands.begin(), operation.operands.end());
    }
    while (!open.empty()) {
        const uint32_t id = open.back();
        open.pop_back();
        if (!seen.insert(id).second) continue;
        reaching.insert(id);
        if (const auto moved = sources_.find(id); moved != sources_.end())
            open.insert(open.end(), moved->second.begin(), moved->second.end());
    }
    return reaching;
}

Arithmetic ContractionReader::arithmetic() const {
    Arithmetic all;
    const std::set<uint32_t> reaching = productsInSums();
    for (const Operation& operation : operations_) {
        ++all.operations;
        if (decorated_.count(operation.result.id) != 0) continue;
        FloatOperation result = operation.result;
        if (const auto name = names_.find(operation.function); name != names_.end())
            result.function = name->second.substr(0, name->second.find('('));
        result.fusible = operation.kind == ArithmeticKind::kBoth ||
                         (operation.kind == ArithmeticKind::kProduct && reaching.count(result.id) != 0);
        all.undecorated.push_back(result);
    }
    return all;
}

bool readHeader(std::vector<uint32_t>* words, std::string* error) {
    const auto swapped = [](uint32_t w) { return w << 24 | (w & 0xFF00) << 8 | (w >> 8 & 0xFF00) | w >> 24; };
    const uint32_t magic = words->size() < kHeaderWords ? 0 : words->front();
    if (magic != spv::MagicNumber && magic != swapped(spv::MagicNumber)) {
        *error = "is no SPIR-V: it must begin with the word 0x07230203 and a header";
        return false;
    }
    if (magic != spv::MagicNumber) std::transform(words->begin(), words->end(), words->begin(), swapped);
    if ((*words)[3] > kMaxIds + 1) {
        *error = "is no SPIR-V: its header counts " + std::to_string((*words)[3]) + " ids; SPIR-V has at most 4194303";
        return false;
    }
    return true;
}

} // namespace

bool visitInstructions(std::vector<uint32_t>* words, const std::function<void(size_t at, uint32_t length)>& visit,
                       std::string* error) {
    if (!readHeader(words, error)) return false;
    uint32_t length = 0;
    for (size_t at = kHeaderWords; at < words->size(); at += length) {
        length = (*words)[at] >> spv::WordCountShift;
        if (length == 0 || length > words->size() - at) {
            *error = "is no whole SPIR-V: the instruction at word " + std::to_string(at) + " says it has " +
                     std::to_string(length) + " words, and " + std::to_string(words->size() - at) + " are left";
            return false;
        }
        visit(at, length);
    }
    return true;
}

std::string textOf(const uint32_t* first, const uint32_t* end) {
    std::string all;
    for (; first != end; ++first) {
        for (uint32_t shift = 0; shift < 32; shift += 8) {
            const char letter = static_cast<char>(*first >> shift);
            if (letter == '\0') return all;
            all += letter;
        }
    }
    return all;
}

bool readArithmetic(std::vector<uint32_t> words, Arithmetic* arithmetic, std::string* error) {
    ContractionReader reader(std::move(words));
    if (!reader.read(error)) return false;
    *arithmetic = reader.arithmetic();
    return true;
}

} // namespace rope
