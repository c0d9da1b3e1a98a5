// The examples' shaders and their tests share this file.
#define TOKENS 20
#define DIM 8
#define BUCKETS 8
#define MAX_DISTANCE 12
#define CLIP 5
#define SCALE 1.25
#define SCALE_MANTISSA 0xA0000000u // SCALE = SCALE_MANTISSA * 2^-31
#define ID_ENCODING 1
#define PLAIN 0
#define SINUSOIDAL 1
#define LEARNED 2
#define ROTARY 3
#define RELATIVE_VECTORS 4
#define T5 5
#define CLIPPED 6
#define ALIBI 7
#define DIVIDED 8 // turned by frequencies that are divided by FACTOR
#define FACTOR (-2.0)
