// How a thread's words lie in memory: as the vectors they are, or with ROPE_LONG_WORDS as vectors of half as many 64-bit
// words. It is the same memory; some drivers for CPUs take a vector word by word.
#ifdef ROPE_LONG_WORDS
#define WHOLE_MEMORY u64vec2
#define PACKED_MEMORY uint64_t
#define FROM_WHOLE words_of
#define TO_WHOLE memory_of
#define FROM_PACKED words_of
#define TO_PACKED memory_of
uvec2 words_of(uint64_t memory) { return unpack32(memory); }
uvec4 words_of(u64vec2 memory) { return uvec4(unpack32(memory.x), unpack32(memory.y)); }
uint64_t memory_of(uvec2 words) { return pack64(words); }
u64vec2 memory_of(uvec4 words) { return u64vec2(pack64(words.xy), pack64(words.zw)); }
#else
#define WHOLE_MEMORY WHOLE
#define PACKED_MEMORY PACKED
#define FROM_WHOLE WHOLE
#define TO_WHOLE WHOLE
#define FROM_PACKED UNPACKED
#define TO_PACKED PACKED
#endif
