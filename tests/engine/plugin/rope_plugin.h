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
    ROPE_PLUGIN_ERROR_HOST = -3,         /* a function of the host returned null */
    ROPE_PLUGIN_ERROR_NOT_PREPARED = -4, /* an event without a model that was prepared */
    ROPE_PLUGIN_RESULT_MAX_ENUM = 0x7FFFFFFF
} RopePluginResult;

typedef struct RopePluginSentence {
    char text[192]; /* empty on success */
} RopePluginSentence;

/* These are handles of the host's. The plugin only hands them back. Null means no object. */
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
    RopePluginPlace place; /* valid in a dispatch; a pipeline reads only `number` */
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
    const uint32_t* push;   /* the pipeline's push_bytes */
    const uint32_t* groups; /* 3 */
} RopePluginDispatch;

struct VkPhysicalDeviceProperties;

/* The plugin gives `host` to every function. A call's pointers are valid during the call. */
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

/* The tensors are float32, [token][head][element], and are rotated in place. */
typedef struct RopePluginModel {
    uint32_t query_heads, key_heads;
    uint32_t head_dim; /* even, at most 256 */
    double base;
    uint32_t most_tokens; /* of a frame */
} RopePluginModel;

/* The host makes q, k and positions visible to the compute stage before the event. The compute stage has written q and
 * k after it. No buffer may be null. */
typedef struct RopePluginFrame {
    RopePluginCommands commands; /* being recorded, outside a render pass */
    uint32_t tokens;
    RopePluginPlace q, k, positions; /* positions: an int32 for each token */
} RopePluginFrame;

typedef struct RopePlugin RopePlugin;

/* The calls come in this order: version, load, prepare, an event for each frame, unload. One call at a time may use a
 * plugin. `sentence` is never null. The plugin's bindings belong to set 0, and no barrier is needed between the
 * dispatches of an event. The contents of make_buffer must be visible to the compute stage before the first event. */

ROPE_PLUGIN_API uint32_t rope_plugin_version(void);
ROPE_PLUGIN_API RopePluginResult rope_plugin_load(const RopePluginHost* host, RopePlugin** plugin,
                                                  RopePluginSentence* sentence);
/* Makes the pipelines and frequencies of a model. A call replaces the model before it, and destroys its pipelines and
 * buffer: no command buffer that the plugin recorded into may be pending. A call that is refused leaves no model. */
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
