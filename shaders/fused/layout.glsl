// How positions and rows lie is constant in a fused pass. This file stands in the place of ../layout.glsl.
#ifndef ROPE_LAYOUT_GLSL
#define ROPE_LAYOUT_GLSL
#include "record.h"
#include "../start.glsl"

layout(constant_id = ROPE_ID_POSITION_TOKEN) const uint kPositionToken = 1;
layout(constant_id = ROPE_ID_ROW_TOKEN) const uint kRowToken = 1;
layout(constant_id = ROPE_ID_ROW_PAIR) const uint kRowPair = 1;

uint position_token() { return kPositionToken; }
uint rows_offset() { return push.rows_offset; }
uint row_token() { return kRowToken; }
uint row_pair() { return kRowPair; }

#endif
