// Position source: the one place that knows where a token's position comes from.
layout(set = 0, binding = ROPE_BINDING_POSITIONS) readonly buffer Positions {
    int positions[];
};
layout(constant_id = ROPE_ID_POSITIONS) const uint kPositions = ROPE_KIND_PER_TOKEN;

int position_of(uint batch, uint token) {
    if (kPositions == ROPE_KIND_COUNTED) return push.first_position + int(token);
    uint at = push.position_offset + batch * push.position_batch;
    if (kPositions == ROPE_KIND_PER_SEQUENCE) return positions[at] + push.first_position + int(token);
    return positions[at + token * push.position_token];
}
