// Every compiled shader by its name in shaders/list.def; each is an object of its own, linked only where it is used.
#pragma once

#include "rope.h"

#ifdef __cplusplus
extern "C" {
#endif
#define ROPE_SHADER(name, file, needs, defines) extern const RopeShader rope_shader_##name;
#include "../shaders/list.def"
#undef ROPE_SHADER
#ifdef __cplusplus
}
#endif
