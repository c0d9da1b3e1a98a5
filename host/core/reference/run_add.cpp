// This file carries out additions to embeddings on the CPU: the reference in double, and the shaders' own bits.
#include "plan/encodings/add_resolve.h"
#include "plan/left_out.h"
#include "reference/rotation.h"

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_ADDITIONS)
namespace rope {
namespace {

// Returns an element of the embedding, scaled, and with the cosine or sine of its pair added.
ElementValue embeddedValue(const ResolvedAdd& addition, bool added, ElementValue x, const CosSin& cos_sin,
                           uint32_t which) {
    const uint32_t part = addition.cosine_first ? which : 1 - which; // CosSin has the cosine first
    x.reference = x.reference * addition.scale + (added ? cos_sin.reference[part] : 0);
    x.as_is = x.as_is && !added && addition.scale == 1;
    if (addition.scale != 1) x.bits = bitsOf(product(floatOf(x.bits), addition.scale));
    if (added) x.bits = bitsOf(floatOf(x.bits) + cos_sin.float32[part]);
    return x;
}

void addToToken(const ResolvedAdd& addition, const HostRotation& r, const TensorArrays& arrays, uint32_t batch,
                uint32_t token, uint32_t* outside) {
    const RopeRotateDescription& d = addition.d;
    bool turns;
    const HostToken at = rotationToken(r, batch, token, &turns);
    const bool lacks = d.rotation.source != ROPE_SOURCE_ROWS && turns && isOutside(d, at);
    const bool added = turns && !lacks;
    *outside += lacks;
    const uint64_t from = headElement(addition.x.from, batch, token, 0);
    const uint64_t to = headElement(addition.x.to, batch, token, 0);
    for (uint32_t pair = 0; pair < d.rotation.rotary_dim / 2; ++pair) {
        CosSin cos_sin = {};
        if (added) findCosSin(r, static_cast<uint64_t>(batch) * d.tokens + token, at, pair, &cos_sin);
        for (uint32_t which = 0; which < 2; ++which) {
            const uint32_t e = pairElement(d, d.rotation.pairing, pair, which);
            storeValue(arrays, to + e, embeddedValue(addition, added, loadValue(arrays, from + e), cos_sin, which));
        }
    }
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeHostRunAdd(const RopeAddDescription* description, RopeHostAdd* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    ResolvedAdd addition;
    RopeResult result = resolveAdd(*description, &addition, reason);
    if (result != ROPE_SUCCESS) return result;
    const RopeRotateDescription& d = addition.d;
    HostRotation rotation = makeHostRotation(d, data->positions, data->rows);
    result = checkAngleSource(rotation, reason);
    if (result != ROPE_SUCCESS) return result;
    forgetUnread(data->reference != nullptr, &rotation);
    if (data->positions == nullptr && readsPositions(rotation.read.positions)) return refuseNullPositions(reason);
    if (data->x == nullptr) return refuse(reason, ROPE_ERROR_INVALID, "x is null; it must be the embeddings");
    data->outside = 0;
    const TensorArrays arrays = {data->x, data->reference, data->x_out, d.element, d.element_out};
    for (uint32_t batch = 0; batch < d.batch; ++batch)
        for (uint32_t token = 0; token < d.tokens; ++token)
            addToToken(addition, rotation, arrays, batch, token, &data->outside);
    return result;
}
#else

#ifdef VKROPE_NO_REFERENCE
RopeResult ropeHostRunAdd(const RopeAddDescription*, RopeHostAdd*, RopeReason* reason) {
    return rope::refuseLeftOut("the CPU's reference", "REFERENCE", reason);
}
#else
RopeResult ropeHostRunAdd(const RopeAddDescription*, RopeHostAdd*, RopeReason* reason) {
    return rope::refuseLeftOut("positions added to embeddings", "ADDITIONS", reason);
}
#endif

#endif
