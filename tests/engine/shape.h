// The engine's shaders and its host share this file.
#ifndef ENGINE_SHAPE_H
#define ENGINE_SHAPE_H

#define TOKENS 16
#define QUERY_HEADS 4
#define KEY_HEADS 2
#define HEAD_DIM 64

#endif
