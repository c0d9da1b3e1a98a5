// rope.glsl and bias.glsl have the version of rope.h: major * 10000 + minor * 100 + patch.
#ifndef ROPE_GLSL_VERSION
#define ROPE_GLSL_VERSION 200
#endif
