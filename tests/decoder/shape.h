// The decoder's sizes, for GLSL and C++.
#define LAYERS 3
#define HIDDEN 64
#define HEADS 4
#define KV_HEADS 2
#define DIM 32
#define QKV_ROW ((HEADS + 2 * KV_HEADS) * DIM) // of one token: Q heads, K heads, V heads
#define VOCABULARY 64
#define SCALE_MANTISSA 0x91BEA1F3u // cos and sin are SCALE_MANTISSA * 2^(SCALE_EXPONENT - 31) of what they would be
#define SCALE_EXPONENT 0

#define MOST_TOKENS 24 // of one step
#define PAGE_SIZE 8
#define TABLE_PAGES 8
#define CONTEXT (TABLE_PAGES * PAGE_SIZE)
#define CACHE_PAGES 11                                        // some belong to nobody
#define CACHE_V_AT (CACHE_PAGES * PAGE_SIZE * KV_HEADS * DIM) // V lies behind all of K

// These change from step to step. They are int32 in one buffer.
#define STEP_START 0 // position of the first token
#define STEP_COUNT 1 // of tokens
#define STEP_TABLE 2 // pages of the sequence
#define STEP_SLOTS (STEP_TABLE + TABLE_PAGES)
#define STEP_WORDS (STEP_SLOTS + MOST_TOKENS)
