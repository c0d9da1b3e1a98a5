// Where a thread of the rotation stands: which token, which lane of its first head, and where that head lies.
#ifdef ROPE_TOKENS // of one thread; surplus threads stay past all tokens, however many there are
#define FIRST_TOKEN(turn) (min(turn, 0x7FFFFFFFu / ROPE_TOKENS) * ROPE_TOKENS)
#else
#define FIRST_TOKEN(turn) (turn)
#endif

struct Stand {
    uint number; // of the token, or the first of them
    uint lane;
    uint head;
    uint from;
    uint to;
};

uint heads_from(uint head) {
    return min(kHeads, push.heads - head);
}

Stand find_stand() {
    Stand stand;
    uint turn = divide(gl_GlobalInvocationID.x, push.lanes_magic, push.shifts & 0xFFFFu);
    uint lanes = push.head_lanes * ((push.heads + kHeads - 1u) / kHeads);
    uint rest = gl_GlobalInvocationID.x - turn * lanes;
    stand.number = FIRST_TOKEN(turn);
    uint group = divide(rest, push.head_lanes_magic, push.shifts >> 16);
    uint batch = gl_WorkGroupID.y;
    stand.lane = rest - group * push.head_lanes;
    stand.head = group * kHeads;
    stand.from = push.source.offset + batch * push.source.batch + stand.number * push.source.token +
                 stand.head * push.source.head;
    stand.to = push.destination.offset + batch * push.destination.batch + stand.number * push.destination.token +
               stand.head * push.destination.head;
    return stand;
}
