// What the example's shader and its test agree on.
#define TOKENS 20
#define DIM 8
#define BUCKETS 8
#define MAX_DISTANCE 12
#define CLIP 5
#define ID_ENCODING 1
#define PLAIN 0
#define SINUSOIDAL 1
#define LEARNED 2
#define ROTARY 3
#define RELATIVE_VECTORS 4
#define T5 5
#define CLIPPED 6
#define ALIBI 7
