// This shader adds Shaw's relative vectors. A row belongs to the clipped distance from a query to a key. One build adds
// q . R[row] to scores. The other (ROPE_OF_VALUES) adds Sum a * R[row] to an attention's output. A group takes a few
// queries of one head. In a group, x is the lane and z the query. Among groups, x is the first query, y the sequence
// and z the head with a part of its keys or of its elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRelativePush
#include "words.h"
#ifdef ROPE_OF_VALUES
#include "relative_values.glsl"
#else
#include "relative_keys.glsl"
#endif
