// A cache that no binding spans is bound in windows, and each window takes a dispatch. The slots of a cache, of all its
// packed sequences one after the other, have numbers. A window has the numbers from its first one on, as far as these
// lie in one page, or else in one sequence; and it has some of the heads.
layout(constant_id = ROPE_ID_WINDOW_SLOTS) const uint kWindowSlots = 0; // 0: the cache is bound whole
layout(constant_id = ROPE_ID_WINDOW_HEADS) const uint kWindowHeads = 0; // 0: all

const uint kHeadsOfWindow = kWindowHeads != 0u ? kWindowHeads : kKvHeads + 1u;
const uint kHeadWindows = (kKvHeads + kHeadsOfWindow - 1u) / kHeadsOfWindow;
const bool kNumbersSequences = kPacked && (kCache == ROPE_CACHE_BY_POSITION || kCache == ROPE_CACHE_BY_RING);
// The window's numbers lie in one run of this length.
const uint kNumberedSlots = kCacheSlots != 0u ? kCacheSlots : 1u;
const uint kWindowPage = kPageSize != 0u ? kPageSize : kNumberedSlots;
const uint kWindowRun = kWindowSlots < kWindowPage      ? kWindowPage
                        : kWindowSlots < kNumberedSlots ? kNumberedSlots
                                                        : ROPE_NOWHERE;

uint first_window_head() { return push.ROPE_WINDOW % kHeadWindows * kWindowHeads; }

// Counts a slot, and a packed sequence, from the window's first. Outside the window the slot becomes ROPE_NOWHERE, and
// the sequence becomes 0: the words read there are thrown away, but lie in the binding.
void find_in_window(inout uint sequence, inout uint slot) {
    if (kWindowSlots == 0u) return;
    uint first = push.ROPE_WINDOW / kHeadWindows;
    uint number = slot + choose(kNumbersSequences, sequence * kNumberedSlots, 0u);
    bool inside = number - first < kWindowSlots && number / kWindowRun == first / kWindowRun && slot != ROPE_NOWHERE;
    number = choose(inside, number - first, 0u);
    if (kNumbersSequences) {
        sequence = number / kNumberedSlots;
        number %= kNumberedSlots;
    }
    slot = choose(inside, number, ROPE_NOWHERE);
}

// True if the item has a head h, and the window has it too.
bool has_head(WorkItem item, uint h) {
    uint head = item.head + h;
    bool there = head < item.heads;
    if (kWindowHeads == 0u) return there;
    return there && head - first_window_head() < kWindowHeads;
}

// Returns a head that may be read where it is written: the nearest one of the window.
uint readable_head(uint head) {
    if (!kTurnsCache || kWindowHeads == 0u) return head;
    return clamp(head, first_window_head(), first_window_head() + kWindowHeads - 1u);
}
