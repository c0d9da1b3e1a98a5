// A dispatch that does nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "../shaders/start.glsl"

void main() {}
