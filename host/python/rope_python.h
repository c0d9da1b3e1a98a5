/* The Python package calls these functions by ctypes: a model's frequencies, and the work of rope.h's descriptions, on
 * a Vulkan device or with the same bits on the CPU. C99. This header is the manual of the calls; rope.h is that of the
 * descriptions.
 *
 * layouts.py reads the structures of both headers and writes them into the package's _structures.py, with a number that
 * tells these layouts from any others. When the package loads the library, it compares the number with
 * ropePythonLayouts.
 *
 * A call that has a status returns ROPE_PYTHON_DONE, or writes one sentence to *reason, which is never null. Nothing is
 * thrown. All calls may run on any number of threads at once, also with the same device: a device of Vulkan's then
 * works for one after the other, the CPU for all at once. */
#ifndef VKROPE_ROPE_PYTHON_H
#define VKROPE_ROPE_PYTHON_H

#include <vkrope/rope.h>

#if defined(_WIN32)
#define ROPE_PYTHON_API __declspec(dllexport)
#else
#define ROPE_PYTHON_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RopePythonStatus {
    ROPE_PYTHON_DONE = 0,
    ROPE_PYTHON_FAILED = 1,  /* the machine failed: no memory, a device lost */
    ROPE_PYTHON_REFUSED = 2, /* the request is at fault, also for a device that is not here */
    ROPE_PYTHON_STATUS_MAX_ENUM = 0x7FFFFFFF
} RopePythonStatus;

/* A longer sentence is cut. */
#define ROPE_PYTHON_REASON_SIZE 1024
typedef struct RopePythonReason {
    char text[ROPE_PYTHON_REASON_SIZE];
} RopePythonReason;

/* The number of the layouts that the library was built with. */
ROPE_PYTHON_API uint32_t ropePythonLayouts(void);

/* ---- Models -------------------------------------------------------------------------------------------------- */

/* A configuration, in one of two ways. Zeros choose what the configuration says. */
typedef struct RopePythonRequest {
    const char* gguf;       /* the path of a .gguf; or null, and then */
    const void* config;     /* the text of a config.json, */
    uint64_t config_bytes;  /* of so many bytes */
    const char* layer_type; /* null: full_attention, or the only type */
    double length;          /* the largest position so far plus 1, for rules that depend on it */
    uint32_t rotary_dim;    /* elements */
    uint32_t layer;         /* one layer by its number, from 1 on; 0: by its type */
} RopePythonRequest;

/* *json becomes an object in JSON, whose members are the keyword arguments of the package's Encoding, or null on
 * failure. ropePythonFreeText takes null too. */
ROPE_PYTHON_API RopePythonStatus ropePythonReadModel(const RopePythonRequest* request, char** json,
                                                     RopePythonReason* reason);
ROPE_PYTHON_API void ropePythonFreeText(char* text);

/* ---- Devices ------------------------------------------------------------------------------------------------- */

/* "cpu" computes the shaders' bits on the CPU and takes no Vulkan; else an index, part of a device's name or driver, or
 * an empty text for the best device. *device is null on failure. ropePythonCloseDevice takes null too; no other call
 * may be at work with the device. */
typedef struct RopePythonDevice RopePythonDevice;
ROPE_PYTHON_API RopePythonStatus ropePythonOpenDevice(const char* select, RopePythonDevice** device,
                                                      RopePythonReason* reason);
ROPE_PYTHON_API void ropePythonCloseDevice(RopePythonDevice* device);
ROPE_PYTHON_API const char* ropePythonDeviceName(const RopePythonDevice* device); /* lives as long as the device */

/* ---- Work ---------------------------------------------------------------------------------------------------- */

typedef enum RopePythonWork {
    ROPE_PYTHON_TABLE = 0,  /* the description is a RopeTableDescription, */
    ROPE_PYTHON_ROTATE = 1, /* a RopeRotateDescription of Q alone, whose source is inline, */
    ROPE_PYTHON_FUSED = 2,  /* a RopeFusedDescription, */
    ROPE_PYTHON_ADD = 3,    /* a RopeAddDescription */
    ROPE_PYTHON_BIAS = 4,   /* or a RopeBiasDescription */
    ROPE_PYTHON_WORK_MAX_ENUM = 0x7FFFFFFF
} RopePythonWork;

/* The caller's memory in place of a slot's buffer: what is read before the work, and what is written behind it. Either
 * may be null. Fewer bytes than the description takes are refused. */
typedef struct RopePythonSlot {
    const void* from;
    void* to;
    uint64_t bytes;
} RopePythonSlot;

/* Carries out a description. `slots` are ROPE_SLOT_COUNT, by RopeSlot. FREQUENCIES and PARAMETERS are not read: the
 * call makes them of the description, which gives frequencies.values. In place `from` and `to` of a slot are one array.
 * On a device all bytes of a slot are written back. */
ROPE_PYTHON_API RopePythonStatus ropePythonRun(RopePythonDevice* device, RopePythonWork work, const void* description,
                                               const RopePythonSlot* slots, RopePythonReason* reason);

/* ropePairPermutation and ropeMakeAlibiSlopes of rope.h. */
ROPE_PYTHON_API RopePythonStatus ropePythonPermutation(uint32_t head_dim, uint32_t rotary_begin, uint32_t rotary_dim,
                                                       RopePairing to, uint32_t* permutation, RopePythonReason* reason);
ROPE_PYTHON_API RopePythonStatus ropePythonSlopes(uint32_t heads, float* slopes, RopePythonReason* reason);

#ifdef __cplusplus
}
#endif
#endif
