// This file declares every compiled shader by its name in shaders/list.def. Each shader is an object of its own, and is
// linked only if it is used.
#pragma once

#include <vkrope/rope.h>

#ifdef __cplusplus
extern "C" {
#endif
#define ROPE_SHADER(name, file, family, needs, defines) extern const RopeShader rope_shader_##name;
#include "list.def"
#undef ROPE_SHADER
#ifdef __cplusplus
}
#endif
