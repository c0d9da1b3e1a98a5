// This file reads the cosines and sines of a lane's pairs from the token's own row, or from a table's.
#ifndef ROPE_LANE_ROWS_GLSL
#define ROPE_LANE_ROWS_GLSL
#include "lane.glsl"
#include "position.glsl"
#include "rows.glsl"

struct CosSin {
    vec4 cosine, sine;
};

// Returns where a pair's cosine lies. The token's own row begins at `row`.
uint row_place(Token token, uint row, uint pair) {
    uint start = kFromTable ? row_of(token, axis_of(pair)) * row_token() : row;
    return rows_offset() + start + pair * row_pair();
}

void read_quad_rows(Token token, uint row, Lane lane, uint quad, out uvec4 cosine, out uvec4 sine) {
    const uint kPlaces = kRows <= ROPE_ROWS_WOVEN ? 1u : 4u; // loads by four need one place
    uvec4 at;
    uint i = 0u;
    do {
        uint place = row_place(token, row, pair_in_lane(lane, quad * 4u + i));
        if (kPlaces == 1u) at = uvec4(place); // no index: see portability.md
        else at[i] = place;
    } while (++i < kPlaces);
    load_row(at, cosine, sine);
}

#endif
