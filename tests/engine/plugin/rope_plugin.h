/* The interface of a native plugin, in the manner of the engines that take such: C, stable names, opaque handles. The
 * host owns the device, memory, pipelines, descriptors and command buffers, and gives the plugin functions for them.
 * The plugin calls Vulkan by no other way, starts no thread, and allocates by the host's functions alone, while it
 * loads and prepares. */
#ifndef ROPE_PLUGIN_H
#define ROPE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define ROPE_PLUGIN_VERSION 1u

#if defined(ROPE_PLUGIN_BUILDING) && defined(_WIN32)
#define ROPE_PLUGIN_API __declspec(dllexport)
#elif defined(ROPE_PLUGIN_BUILDING)
#define ROPE_PLUGIN_API __attribute__((visibility("default")))
#else
#define ROPE_PLUGIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RopePluginResult {
    ROPE_PLUGIN_SUCCESS = 0,
    ROPE_PLUGIN_ERROR_REFUSED = -1,      /* the sentence says why */
    ROPE_PLUGIN_ERROR_VERSION = -2,      /* the host was built for another version of this interface */
    ROPE_PLUGIN_ERROR_HOST = -3,         /* a function of the host returned nothing */
    ROPE_PLUGIN_ERROR_NOT_PREPARED = -4, /* an event before rope_plugin_prepare */
    ROPE_PLUGIN_RESULT_MAX_ENUM = 0x7FFFFFFF
} RopePluginResult;

typedef struct RopePluginSentence {
    char text[192]; /* empty on success */
} RopePluginSentence;

/* Handles of the host's. The plugin only hands them back; null is none. */
typedef struct RopePluginBuffer_* RopePluginBuffer;
typedef struct RopePluginPipeline_* RopePluginPipeline;
typedef struct RopePluginCommands_* RopePluginCommands;

typedef struct RopePluginPlace {
    RopePluginBuffer buffer;
    uint64_t offset; /* bytes, a multiple of minStorageBufferOffsetAlignment */
} RopePluginPlace;

/* A storage buffer of descriptor set 0. */
typedef struct RopePluginBinding {
    uint32_t number;
    RopePluginPlace place; /* of a dispatch; a pipeline has only numbers */
    uint64_t range;
} RopePluginBinding;

typedef struct RopePluginShader {
    const char* name;
    const uint32_t* words; /* SPIR-V 1.3 without specialization constants, entry point "main" */
    size_t bytes;
    uint32_t binding_count;
    const RopePluginBinding* bindings;
    uint32_t push_bytes; /* of push constants, from 0 */
} RopePluginShader;

typedef struct RopePluginDispatch {
    RopePluginPipeline pipeline;
    uint32_t binding_count;
    const RopePluginBinding* bindings;
    const uint32_t* push;
    const uint32_t* groups; /* 3 */
} RopePluginDispatch;

struct VkPhysicalDeviceProperties;

/* Every function is given `host`. What a call's structures point at is valid during the call. */
typedef struct RopePluginHost {
    uint32_t version; /* ROPE_PLUGIN_VERSION */
    void* host;
    const struct VkPhysicalDeviceProperties* properties; /* read while loading */
    void* (*allocate)(void* host, size_t bytes);         /* aligned for any type */
    void (*release)(void* host, void* memory);
    RopePluginBuffer (*make_buffer)(void* host, const void* contents, size_t bytes); /* read by shaders */
    void (*destroy_buffer)(void* host, RopePluginBuffer buffer);
    RopePluginPipeline (*make_pipeline)(void* host, const RopePluginShader* shader);
    void (*destroy_pipeline)(void* host, RopePluginPipeline pipeline);
    void (*dispatch)(void* host, RopePluginCommands commands, const RopePluginDispatch* dispatch);
} RopePluginHost;

/* float32 tensors [token][head][element], rotated in place. */
typedef struct RopePluginModel {
    uint32_t query_heads, key_heads;
    uint32_t head_dim; /* at most 256 */
    double base;
    uint32_t most_tokens; /* of a frame */
} RopePluginModel;

/* Before: what wrote the buffers is visible to the compute stage. After: q and k are the compute stage's writes. */
typedef struct RopePluginFrame {
    RopePluginCommands commands; /* being recorded, outside a render pass */
    uint32_t tokens;
    RopePluginPlace q, k, positions; /* positions: an int32 for each token */
} RopePluginFrame;

typedef struct RopePlugin RopePlugin;

ROPE_PLUGIN_API uint32_t rope_plugin_version(void);
ROPE_PLUGIN_API RopePluginResult rope_plugin_load(const RopePluginHost* host, RopePlugin** plugin,
                                                  RopePluginSentence* sentence);
ROPE_PLUGIN_API RopePluginResult rope_plugin_prepare(RopePlugin* plugin, const RopePluginModel* model,
                                                     RopePluginSentence* sentence);
ROPE_PLUGIN_API RopePluginResult rope_plugin_event(RopePlugin* plugin, const RopePluginFrame* frame,
                                                   RopePluginSentence* sentence);
/* No command buffer that the plugin recorded into may be pending. */
ROPE_PLUGIN_API void rope_plugin_unload(RopePlugin* plugin);

#ifdef __cplusplus
}
#endif
#endif
