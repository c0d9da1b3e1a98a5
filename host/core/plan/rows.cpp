// This file owns rows of cos and sin: the formats in use as strides, the strides that are refused, and the memory that
// rows span.
//
// To add a format of rows: RopeRowsFormat, a case of ropeSetRows, and a row of kTableFormats in
// host/program/commands/table.cpp.
#include "plan/rows.h"
#include "plan/element_formats.h"
#include "plan/layout.h"

namespace rope {
namespace {

uint64_t magnitudeOf(int64_t value) {
    return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// True if two entries of any rows share a place. The entries are `difference` apart in the same row and pair; `same`
// says that they are one and the same entry of each row.
bool entriesMeet(int64_t difference, bool same, uint64_t count, uint32_t pairs, const RopeRows& rows) {
    const int64_t row_stride = static_cast<int64_t>(rows.row_stride);
    for (int64_t pair = 1 - static_cast<int64_t>(pairs); pair < pairs; ++pair) {
        const int64_t apart = pair * rows.pair_stride - difference;
        if (apart % row_stride != 0 || magnitudeOf(apart / row_stride) >= count) continue;
        if (!same || apart != 0 || pair != 0) return true;
    }
    return false;
}

} // namespace

RopeResult resolveRows(uint32_t pairs, RopeRows* rows, RopeReason* reason) {
    if (rows->row_stride == 0) rows->row_stride = 2ull * pairs;
    if (rows->pair_stride == 0) rows->pair_stride = 1;
    if (rows->sin_offset == 0) rows->sin_offset = pairs;
    if (rows->element == ROPE_ELEMENT_DEFAULT) rows->element = ROPE_ELEMENT_F32;
    RopeResult result = checkStrideLimit("rows.row_stride", rows->row_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStrideLimit("rows.offset", rows->offset, reason);
    if (result == ROPE_SUCCESS) result = checkStrideLimit("rows.sin_offset", magnitudeOf(rows->sin_offset), reason);
    if (result == ROPE_SUCCESS) result = checkChoice("rows.element", rows->element, kLastTensorElement, reason);
    if (result != ROPE_SUCCESS) return result;
    if (rows->sin_offset < 0 && magnitudeOf(rows->sin_offset) > rows->offset) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "rows.sin_offset is %lld and reaches before the buffer; rows.offset, %llu, must be at least as much",
            static_cast<long long>(rows->sin_offset), static_cast<unsigned long long>(rows->offset));
    }
    return ROPE_SUCCESS;
}

// Refuses rows in which two of the values that a table writes share a place.
RopeResult checkWrittenRows(uint64_t count, uint32_t pairs, const RopeRows& rows, RopeReason* reason) {
    if (rows.element != ROPE_ELEMENT_F32) {
        return refuse(reason, ROPE_ERROR_INVALID, "rows.element is %d; a table is written in ROPE_ELEMENT_F32",
                      static_cast<int>(rows.element));
    }
    if (rows.pair_stride == 1 && rows.copy_offset == 0 && rows.sin_offset >= pairs &&
        rows.row_stride >= static_cast<uint64_t>(rows.sin_offset) + pairs)
        return ROPE_SUCCESS; // native rows, and rows like them, plainly do not overlap
    const int64_t copy = rows.copy_offset;
    const int64_t offsets[4] = {0, rows.sin_offset, copy, rows.sin_offset + copy};
    bool overlap = false;
    for (int i = 0; i < 4; ++i)
        for (int j = i; j < (copy != 0 ? 4 : 2); ++j)
            overlap = overlap || entriesMeet(offsets[j] - offsets[i], i == j, count, pairs, rows);
    if (!overlap) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "rows of %u pairs overlap with row_stride %llu, pair_stride %u, sin_offset %lld and copy_offset %u; "
                  "ropeSetRows fills in ones that do not",
                  pairs, static_cast<unsigned long long>(rows.row_stride), rows.pair_stride,
                  static_cast<long long>(rows.sin_offset), rows.copy_offset);
}

PassAccess rowAccess(const RopeRows& rows, uint32_t pairs) {
    const uint64_t apart = magnitudeOf(rows.sin_offset);
    const uint64_t extent = apart + rows.copy_offset + static_cast<uint64_t>(pairs - 1) * rows.pair_stride + 1;
    return {ROPE_SLOT_ROWS,
            ropeElementBytes(rows.element),
            rows.offset - (rows.sin_offset < 0 ? apart : 0),
            {0, 0, 0},
            extent};
}

void setRowWords(const RopeRows& rows, RopePush* push) {
    push->rows.offset = rows.sin_offset < 0 ? static_cast<uint32_t>(magnitudeOf(rows.sin_offset)) : 0;
    push->rows.head = rows.pair_stride;
    push->rows.token = static_cast<uint32_t>(rows.row_stride);
    push->sin_offset = static_cast<uint32_t>(rows.sin_offset);
}

} // namespace rope

void ropeSetRows(RopeRowsFormat format, uint32_t pairs, uint32_t row_count, RopeRows* rows) {
    if (rows == nullptr) return;
    const bool duplicated = format == ROPE_ROWS_DUPLICATED;
    const bool interleaved = format == ROPE_ROWS_INTERLEAVED || format == ROPE_ROWS_COMPLEX;
    const uint32_t width = format == ROPE_ROWS_TWO_ARRAYS ? pairs : 2 * pairs;
    rows->row_stride = width;
    rows->pair_stride = interleaved ? 2 : 1;
    rows->sin_offset = interleaved ? 1 : pairs;
    if (duplicated || format == ROPE_ROWS_TWO_ARRAYS) rows->sin_offset = static_cast<int64_t>(width) * row_count;
    rows->copy_offset = duplicated ? pairs : 0;
    rows->count = row_count;
}
