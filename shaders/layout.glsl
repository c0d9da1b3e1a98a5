// A fused pass has fused/layout.glsl in the place of this file: these numbers are constants there.
#ifndef ROPE_LAYOUT_GLSL
#define ROPE_LAYOUT_GLSL
#include "start.glsl"

uint position_token() { return push.position_token; }
uint rows_offset() { return push.rows.offset; }
uint row_token() { return push.rows.token; }
uint row_pair() { return push.rows.head; }

#endif
