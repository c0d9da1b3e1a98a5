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

/* The address of a call of rope.h, by its name. Null: the package has no use for it. */
ROPE_PYTHON_API const void* ropePythonCall(const char* name);

/* The limits to plan by. The CPU takes what no device's limits forbid. */
ROPE_PYTHON_API void ropePythonLimits(const RopePythonDevice* device, RopeLimits* limits);

/* The caller's memory in place of a slot's buffer: what is read before the work, and what is written behind it. Either
 * may be null. In place both are one array. All bytes of a slot are written back. */
typedef struct RopePythonSlot {
    const void* from;
    void* to;
    uint64_t bytes;
} RopePythonSlot;

/* Carries out a plan on a Vulkan device. `slots` are ROPE_SLOT_COUNT, by RopeSlot, each of the bytes that the plan says
 * or more. */
ROPE_PYTHON_API RopePythonStatus ropePythonRun(RopePythonDevice* device, const RopePlan* plan,
                                               const RopePythonSlot* slots, RopePythonReason* reason);

#ifdef __cplusplus
}
#endif
#endif
