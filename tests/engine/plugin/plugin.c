/* A native plugin for engines on vkrope's raw level: plans and their dispatches as plain data, and no context. */
#include "rope_plugin.h"

#include <vkrope/rope.h>

#include <stdio.h>
#include <string.h>

#define MOST_PAIRS 128
#define MOST_PIPELINES 8

/* A pipeline serves every dispatch of the same shader, constants and bound numbers. */
typedef struct Pipeline {
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT];
    uint32_t bound;
    RopePluginPipeline handle;
} Pipeline;

struct RopePlugin {
    RopePluginHost host;
    RopeLimits limits;
    uint32_t most_tokens; /* 0: not prepared */
    RopeRotateDescription description;
    double values[MOST_PAIRS];
    RopePluginBuffer frequencies;
    Pipeline pipelines[MOST_PIPELINES];
    uint32_t pipeline_count;
};

static RopePluginResult refuse(RopePluginSentence* sentence, RopePluginResult result, const char* text) {
    snprintf(sentence->text, sizeof sentence->text, "%s", text);
    return result;
}

static uint32_t boundNumbers(const RopeDispatch* dispatch) {
    uint32_t bound = 0, i;
    for (i = 0; i < ROPE_BINDING_COUNT; ++i) bound |= (uint32_t)(dispatch->bindings[i].range != 0) << i;
    return bound;
}

/* The bindings that the dispatch has, at the places of its slots; null: numbers alone. Rotations have no uniform. */
static uint32_t listBindings(const RopeDispatch* dispatch, const RopePluginPlace* slots, RopePluginBinding* bindings) {
    uint32_t count = 0, i;
    for (i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const RopeBinding* const from = &dispatch->bindings[i];
        RopePluginBinding binding = {0};
        if (from->range == 0) continue;
        binding.number = i;
        if (slots != NULL) binding.place = slots[from->slot];
        binding.place.offset += from->offset;
        binding.range = from->range;
        bindings[count++] = binding;
    }
    return count;
}

static const Pipeline* findPipeline(const RopePlugin* plugin, const RopeDispatch* dispatch) {
    const uint32_t bound = boundNumbers(dispatch);
    uint32_t i;
    for (i = 0; i < plugin->pipeline_count; ++i) {
        const Pipeline* const p = &plugin->pipelines[i];
        if (p->shader == dispatch->shader && p->bound == bound &&
            memcmp(p->constants, dispatch->constants, sizeof p->constants) == 0)
            return p;
    }
    return NULL;
}

static RopePluginResult makePipeline(RopePlugin* plugin, const RopeDispatch* dispatch, RopePluginSentence* sentence) {
    const RopePluginHost* const host = &plugin->host;
    Pipeline* const made = &plugin->pipelines[plugin->pipeline_count];
    RopePluginBinding bindings[ROPE_BINDING_COUNT];
    RopePluginShader shader = {0};
    uint32_t* words;
    if (findPipeline(plugin, dispatch) != NULL) return ROPE_PLUGIN_SUCCESS;
    if (plugin->pipeline_count == MOST_PIPELINES)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED,
                      "the model takes more pipelines than the plugin has room for");
    words = host->allocate(host->host, dispatch->shader->bytes);
    if (words == NULL) return refuse(sentence, ROPE_PLUGIN_ERROR_HOST, "the host has no memory for a shader");
    shader.name = dispatch->shader->name;
    shader.words = words;
    shader.bytes = ropeSpecialize(dispatch, words);
    shader.binding_count = listBindings(dispatch, NULL, bindings);
    shader.bindings = bindings;
    shader.push_bytes = sizeof dispatch->push;
    made->shader = dispatch->shader;
    memcpy(made->constants, dispatch->constants, sizeof made->constants);
    made->bound = boundNumbers(dispatch);
    made->handle = host->make_pipeline(host->host, &shader);
    host->release(host->host, words);
    if (made->handle == NULL) return refuse(sentence, ROPE_PLUGIN_ERROR_HOST, "the host made no pipeline");
    ++plugin->pipeline_count;
    return ROPE_PLUGIN_SUCCESS;
}

static void clear(RopePlugin* plugin) {
    const RopePluginHost* const host = &plugin->host;
    uint32_t i;
    for (i = 0; i < plugin->pipeline_count; ++i) host->destroy_pipeline(host->host, plugin->pipelines[i].handle);
    if (plugin->frequencies != NULL) host->destroy_buffer(host->host, plugin->frequencies);
    plugin->frequencies = NULL;
    plugin->pipeline_count = plugin->most_tokens = 0;
}

static RopePluginResult makeFrequencies(RopePlugin* plugin, double base, RopePluginSentence* sentence) {
    RopeFrequencies* const frequencies = &plugin->description.rotation.frequencies;
    uint32_t words[4 * MOST_PAIRS];
    RopeReason reason;
    RopeRule rule = {0};
    rule.rotary_dim = plugin->description.head_dim;
    rule.base = base;
    if (ropeMakeFrequencies(&rule, plugin->values, &frequencies->scale, &reason) != ROPE_SUCCESS)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, reason.text);
    frequencies->values = plugin->values;
    frequencies->count = rule.rotary_dim / 2;
    if (ropeWriteFrequencies(frequencies, ROPE_ANGLE_EXACT, words, &reason) != ROPE_SUCCESS)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, reason.text);
    plugin->frequencies = plugin->host.make_buffer(plugin->host.host, words, ropeFrequencyBytes(frequencies->count));
    if (plugin->frequencies == NULL) return refuse(sentence, ROPE_PLUGIN_ERROR_HOST, "the host made no buffer");
    return ROPE_PLUGIN_SUCCESS;
}

static RopePluginResult makePipelines(RopePlugin* plugin, uint32_t most, RopePluginSentence* sentence) {
    RopePlan plans[ROPE_MAX_RANGE_PLANS];
    RopeDispatch dispatch;
    RopePluginResult result = ROPE_PLUGIN_SUCCESS;
    uint32_t count, p, i;
    if (ropePlanRotateRange(&plugin->description, 1, most, &plugin->limits, plans, &count) != ROPE_SUCCESS)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, plans[0].reason.text);
    for (p = 0; p < count; ++p) {
        for (i = 0; i < ropeDispatchCount(&plans[p]) && result == ROPE_PLUGIN_SUCCESS; ++i) {
            ropeGetDispatch(&plans[p], i, &dispatch);
            result = makePipeline(plugin, &dispatch, sentence);
        }
    }
    return result;
}

uint32_t rope_plugin_version(void) { return ROPE_PLUGIN_VERSION; }

RopePluginResult rope_plugin_load(const RopePluginHost* host, RopePlugin** plugin, RopePluginSentence* sentence) {
    sentence->text[0] = '\0';
    *plugin = NULL;
    if (host->version != ROPE_PLUGIN_VERSION) {
        snprintf(sentence->text, sizeof sentence->text, "the host's interface is of version %u; this plugin has %u",
                 (unsigned)host->version, (unsigned)ROPE_PLUGIN_VERSION);
        return ROPE_PLUGIN_ERROR_VERSION;
    }
    if (!host->properties || !host->allocate || !host->release || !host->make_buffer || !host->destroy_buffer ||
        !host->make_pipeline || !host->destroy_pipeline || !host->dispatch)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, "the host lacks a function or the device's properties");
    *plugin = host->allocate(host->host, sizeof **plugin);
    if (*plugin == NULL) return refuse(sentence, ROPE_PLUGIN_ERROR_HOST, "the host has no memory for the plugin");
    memset(*plugin, 0, sizeof **plugin);
    (*plugin)->host = *host;
    ropeLimitsFromDevice(host->properties, 0, &(*plugin)->limits);
    return ROPE_PLUGIN_SUCCESS;
}

RopePluginResult rope_plugin_prepare(RopePlugin* plugin, const RopePluginModel* model, RopePluginSentence* sentence) {
    RopeRotateDescription* const d = &plugin->description;
    RopePluginResult result;
    sentence->text[0] = '\0';
    if (model->head_dim > 2 * MOST_PAIRS)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, "head_dim must be at most 256");
    clear(plugin);
    memset(d, 0, sizeof *d);
    d->head_dim = model->head_dim;
    d->q.heads = model->query_heads;
    d->k.heads = model->key_heads;
    result = makeFrequencies(plugin, model->base, sentence);
    if (result == ROPE_PLUGIN_SUCCESS) result = makePipelines(plugin, model->most_tokens, sentence);
    if (result == ROPE_PLUGIN_SUCCESS)
        plugin->most_tokens = model->most_tokens;
    else
        clear(plugin);
    return result;
}

RopePluginResult rope_plugin_event(RopePlugin* plugin, const RopePluginFrame* frame, RopePluginSentence* sentence) {
    const RopePluginHost* const host = &plugin->host;
    const uint64_t offsets = frame->q.offset | frame->k.offset | frame->positions.offset;
    RopePluginPlace slots[ROPE_SLOT_COUNT] = {{0}};
    RopePluginBinding bindings[ROPE_BINDING_COUNT];
    RopePlan plan;
    RopeDispatch dispatch;
    uint32_t i;
    sentence->text[0] = '\0';
    if (plugin->most_tokens == 0) return refuse(sentence, ROPE_PLUGIN_ERROR_NOT_PREPARED, "no model is prepared");
    if (frame->tokens > plugin->most_tokens)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, "tokens must be at most the model's most_tokens");
    plugin->description.tokens = frame->tokens;
    if (ropePlanRotate(&plugin->description, &plugin->limits, &plan) != ROPE_SUCCESS)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, plan.reason.text);
    if (offsets % plugin->limits.storage_alignment != 0)
        return refuse(sentence, ROPE_PLUGIN_ERROR_REFUSED, "offsets must be multiples of the device's alignment");
    slots[ROPE_SLOT_Q] = frame->q;
    slots[ROPE_SLOT_K] = frame->k;
    slots[ROPE_SLOT_POSITIONS] = frame->positions;
    slots[ROPE_SLOT_FREQUENCIES].buffer = plugin->frequencies;
    for (i = 0; i < ropeDispatchCount(&plan); ++i) {
        RopePluginDispatch call = {0};
        const Pipeline* pipeline;
        ropeGetDispatch(&plan, i, &dispatch);
        pipeline = findPipeline(plugin, &dispatch);
        if (pipeline == NULL) return refuse(sentence, ROPE_PLUGIN_ERROR_NOT_PREPARED, "a pipeline was not prepared");
        call.pipeline = pipeline->handle;
        call.binding_count = listBindings(&dispatch, slots, bindings);
        call.bindings = bindings;
        call.push = dispatch.push;
        call.groups = dispatch.groups;
        host->dispatch(host->host, frame->commands, &call);
    }
    return ROPE_PLUGIN_SUCCESS;
}

void rope_plugin_unload(RopePlugin* plugin) {
    if (plugin == NULL) return;
    clear(plugin);
    plugin->host.release(plugin->host.host, plugin);
}
