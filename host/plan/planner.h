// What the plan functions share: described passes are split, sized and checked in one place.
#pragma once

#include "rope.h"

#include "../shaders/interface.h"
#include "plan/enumerators.h"
#include "rules/refuse.h"

namespace rope {

// Descriptions with every default filled in, or a refusal. The CPU's own runs use them too.
RopeResult resolve(const RopeTableDescription& given, RopeTableDescription* filled, RopeReason* reason);
RopeResult resolve(const RopeRotateDescription& given, RopeRotateDescription* filled, RopeReason* reason);

// Of a rotation what is not the tensors' own; where nothing turns its source and operation are not read.
RopeResult resolveRotation(bool turned, RopeRotateDescription* d, RopeReason* reason);

// What only a move could bring about.
RopeResult checkInPlace(const RopeRotateDescription& d, RopeReason* reason);

// A stride and how many times it is taken; "batch" and so on.
struct StrideAxis {
    uint64_t* stride;
    uint32_t count;
    const char* name;
};
// Clears strides of a single one. *reach grows from the elements of one to those from the first to the last; what is
// written may not overlap itself.
RopeResult checkStrides(const char* name, StrideAxis* axes, uint32_t count, bool written, uint64_t* reach,
                        RopeReason* reason);
RopeResult checkProduct(const char* name, const char* what, uint64_t elements, uint32_t count, RopeReason* reason);
RopeResult checkOffset(const char* name, uint64_t offset, RopeReason* reason);
RopeResult resolveLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                         RopeLayout* layout, RopeReason* reason);
RopeResult checkHeads(uint32_t heads, RopeReason* reason);
// Both sides of a tensor, or where it is changed in place the one.
RopeResult resolveTensor(const char* source_name, const char* destination_name, const RopeRotateDescription& d,
                         RopeTensor* tensor, RopeReason* reason);

// Whether a tensor's runs of four elements, and the pairs' partners, lie at multiples of four.
bool isWide(const RopeRotateDescription& d, const RopeTensor& tensor);

inline const char* slotName(uint32_t slot) { return ropeSlotName(static_cast<RopeSlot>(slot)); }

constexpr uint32_t kMaxCount = 1u << 30; // of anything that a shader counts in 32 bits

RopeResult checkAxes(const RopeFrequencies& frequencies, RopeReason* reason);
uint32_t axisCount(const RopeFrequencies& frequencies);
void setAxes(const RopeFrequencies& frequencies, RopePass* pass);

// Positions of frequencies that are checked already.
RopeResult resolvePositions(const RopeFrequencies& frequencies, uint32_t batch, uint32_t tokens,
                            RopePositions* positions, RopeReason* reason);
// Of positions that are not read themselves: the lengths of packed sequences, or nothing.
void keepLengths(bool wanted, RopePositions* positions);
// What a rotation itself reads of them. By rows that is nothing but the lengths of packed sequences, for a window.
void positionsRead(const RopeRotateDescription& d, RopePositions* positions, RopeFrequencies* frequencies);
inline bool readsPositions(const RopePositions& positions) { return positions.kind != ROPE_POSITIONS_COUNTED; }
RopeAccess positionAccess(const RopePositions& positions, const RopeFrequencies& frequencies);
void setPositions(const RopePositions& positions, const RopeFrequencies& frequencies, RopePush* push, RopePass* pass);
// Whether a buffer can hold what is no position or no set.
bool canLackPosition(const RopePositions& positions, const RopeFrequencies& frequencies);

inline bool isPacked(const RopePositions& positions) { return positions.kind >= ROPE_POSITIONS_PACKED; }
// Rows of axes or starts, without those of lengths and sets.
inline uint32_t positionRows(const RopePositions& p, uint32_t axes) {
    return isPacked(p) ? (p.kind == ROPE_POSITIONS_PACKED_STARTS ? 1 : 0) : axes;
}

// One token on the CPU.
struct HostToken {
    bool placed;          // it is part of a sequence
    bool known;           // each of its positions is one, and its set is there
    uint32_t index, left; // in its sequence; tokens from it to the sequence's end, itself among them
    uint32_t sequence;    // the batch's, or of packed ones
    uint32_t set;
    int64_t position[ROPE_MAX_AXES]; // in 2^-32ths
};
HostToken hostToken(const RopePositions& p, const RopeFrequencies& frequencies, const void* positions, uint32_t tokens,
                    uint32_t batch, uint32_t token);

// Of the buffer, as it stands there; of floats their bits.
int64_t readInteger(const void* array, RopePositionElement element, uint64_t at);

// Strides and offsets of rows and positions, small enough that sums of them stay within 64 bits.
RopeResult checkStride(const char* name, uint64_t value, RopeReason* reason);

RopeResult resolveRows(uint32_t pairs, RopeRows* rows, RopeReason* reason);
RopeResult checkWrittenRows(uint64_t count, uint32_t pairs, const RopeRows& rows, RopeReason* reason);
RopeAccess rowAccess(const RopeRows& rows, uint32_t pairs); // of one row; the strides are the caller's
void setRowPush(const RopeRows& rows, RopePush* push);

// An element as it lies there, its float32 bits and back, and both at once: integers, as a float in a register may lose
// a NaN's payload.
uint32_t readRaw(const void* array, RopeElement element, uint64_t at);
void writeRaw(void* array, RopeElement element, uint64_t at, uint32_t raw);
uint32_t widened(uint32_t raw, RopeElement element);
uint32_t narrowed(uint32_t bits, RopeElement element);
uint32_t readBits(const void* array, RopeElement element, uint64_t at);
void writeBits(void* array, RopeElement element, uint64_t at, uint32_t bits);
float readElement(const void* array, RopeElement element, uint64_t at);

// scale on cos and sin that an operation asks for.
double operationScale(RopeOperation operation, double scale);

struct Scale {
    uint32_t mantissa; // scale = mantissa * 2^(exponent - 31)
    int32_t exponent;
};
Scale splitScale(double scale);
// Of the scale that an operation asks for: what its rotation takes the leading parts of cos and sin by, or 0.
uint32_t scaleGrid(const RopeRotateDescription& d);

struct Divisor {
    uint32_t magic;
    uint32_t shift;
};
Divisor makeDivisor(uint32_t divisor);

// Puts a limit's default where the limit is 0.
void fillLimits(RopeLimits* limits);
// Refuses limits that no device has.
RopeResult checkLimits(const RopeLimits& limits, RopeReason* reason);

// The description or the plan of a plan function is null; where there is a plan it says so.
RopeResult checkGiven(const void* description, RopePlan* plan);

// A plan being made: begins with memory cleared, then passes are added, then it is finished or refused.
class Planner {
  public:
    Planner(const RopeLimits* limits, RopePlan* plan);
    const RopeLimits& limits() const { return limits_; }
    RopeReason* reason() { return &plan_->reason; }

    // A pass of one group size, cleared, whose push words are to be filled through `push`.
    RopePass* addPass(const RopeShader& shader, uint32_t batch, uint32_t tokens, uint32_t heads);
    // Splits every pass to the limits and sums up the bytes of every slot.
    RopeResult finish();
    RopeResult refused(RopeResult result);

  private:
    RopeResult sumBytes(const RopePass& pass);
    RopeResult refuseSplit(const RopePass& pass);

    RopeLimits limits_;
    RopePlan* plan_;
};

RopeAccess frequencyAccess(const RopeFrequencies& frequencies);
RopePush readPush(const RopePass& pass);
void writePush(const RopePush& push, RopePass* pass);

} // namespace rope
