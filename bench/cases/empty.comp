// A dispatch that does nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "../../shaders/encodings/words.h"
#include "../../shaders/start.glsl"

void main() {}
