#include "config_grid.hpp"

#include "config_source.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace rope {
namespace config {
namespace {

constexpr double kMaxHeadDim = 65536, kMaxBase = 1.8e19, kMaxCount = 1 << 30;
constexpr double kTwoPi = 6.283185307179586477;

// ---- Which part ----------------------------------------------------------------------------------------------------

// Older files have the whole model's type in the vision part too.
bool isVisionPart(const Json& config) {
    return config.contains("num_heads") && config.contains("depth") && !config.contains("num_attention_heads") &&
           !config.contains("vision_config") && !config.contains("text_config");
}

bool findPainterOf(const Json& config, const std::string& layer_type, Grid* grid, std::string* error) {
    if (!readText(config, "_class_name", &grid->type, error)) return false;
    if (const char* why = whyNoPainter(grid->type))
        return refuse(error, "the class " + shown(grid->type) + " is no rotation by fixed frequencies: " + why);
    grid->painter = findPainter(grid->type);
    if (grid->painter == nullptr) return refuse(error, "the class " + shown(grid->type) + " is not one that is known");
    grid->config = config;
    return layer_type.empty() ||
           refuse(error, "the configuration has no layer types, and so none that is called " + shown(layer_type));
}

// Down to the vision part, whose model_type may be the whole model's.
bool findVision(const Json& config, Grid* grid, std::string* error) {
    bool found = false;
    grid->config = config;
    for (const char* key : {"thinker_config", "vision_config", "backbone_config"}) {
        const Json* inner = find(grid->config, key);
        if (!checkKind(grid->config, key, Kind::object, error)) return false;
        if (inner == nullptr) continue;
        found = found || key == std::string("vision_config");
        const Json part = *inner;
        grid->config = part;
        if (!readText(part, "model_type", &grid->type, error)) return false;
    }
    if (!found) return refuse(error, "the configuration has no vision_config");
    grid->tower = findTower(grid->type, true);
    return grid->tower != nullptr ||
           refuse(error, "the vision of the model type " + shown(grid->type) + " is not one that is known");
}

// ---- The head, the base --------------------------------------------------------------------------------------------

bool readTowerHead(const Grid& grid, uint32_t* head_dim, std::string* error) {
    const Json& config = grid.config;
    uint32_t width = grid.tower->width, heads = grid.tower->heads, times = 1;
    *head_dim = 0;
    if (grid.has(kMemory)) {
        if (!readCount(config, "memory_attention_hidden_size", kMaxCount, &width, error) ||
            !readCount(config, "memory_attention_num_attention_heads", kMaxCount, &heads, error) ||
            !readCount(config, "memory_attention_downsample_rate", kMaxCount, &times, error))
            return false;
    } else if (!readCount(config, "head_dim", kMaxHeadDim, head_dim, error) ||
               !readCount(config, grid.has(kWidthEmbed) ? "embed_dim" : "hidden_size", kMaxCount, &width, error) ||
               !readNamedCount(config, {"num_heads", "num_attention_heads"}, kMaxCount, &heads, error)) {
        return false;
    }
    if (*head_dim != 0) return true;
    const uint64_t parts = uint64_t{heads} * times;
    if (width % parts != 0) {
        return refuse(error, "the configuration's width of " + std::to_string(width) + " elements is no multiple of " +
                                 std::to_string(parts) + ", and makes no whole heads");
    }
    *head_dim = static_cast<uint32_t>(width / parts);
    return true;
}

bool checkRule(const Json& rule, const std::string& name, std::string* error) {
    for (const auto& item : rule.items()) {
        const bool kind = isOneOf(item.key(), {"rope_type", "type"}) && item.value() == "default";
        const bool whole = item.key() == "partial_rotary_factor" && item.value() == 1;
        if (isOff(item.value()) || kind || whole || item.key() == "rope_theta") continue;
        return refuse(error, "the configuration's " + name + " has the key " + shown(item.key()) + " of " +
                                 shown(item.value()) + ", which its code does not take on a grid");
    }
    return true;
}

// *base is left as it is where there is none.
bool readBase(const Json& config, const char* key, double* base, std::string* error) {
    double outer = NAN, inner = NAN;
    if (!readNumber(config, key, 1, kMaxBase, &outer, error)) return false;
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
        const Json* rule = find(config, name);
        if (rule == nullptr) continue;
        if (!checkKind(config, name, Kind::object, error) || !checkRule(*rule, name, error) ||
            !readNumber(*rule, "rope_theta", 1, kMaxBase, &inner, error))
            return false;
    }
    if (!std::isnan(outer) && !std::isnan(inner) && outer != inner)
        return refuse(error, "the configuration has two values of rope_theta, " + shown(outer) + " and " +
                                 shown(inner) + "; they must agree");
    if (!std::isnan(outer) || !std::isnan(inner)) *base = std::isnan(outer) ? inner : outer;
    return true;
}

bool checkKeys(const Grid& grid, const std::vector<std::string>& read, std::string* error) {
    for (const auto& item : grid.config.items()) {
        const std::string& key = item.key();
        if (isOff(item.value()) || !tellsOfRotation(key)) continue;
        if (std::find(read.begin(), read.end(), key) != read.end()) continue;
        return refuse(error, "the configuration's key " + shown(key) + " is not one that is read for " +
                                 shown(grid.type));
    }
    return true;
}

// ---- The ladders ---------------------------------------------------------------------------------------------------

struct Ladders {
    std::vector<uint32_t> dims;    // elements of each axis
    std::vector<double> stretches; // of each axis' base, as the rule NTK does it; empty: none
    double base = 0;
    double times = 1; // positions are so many times what is given
    bool every_other = false, in_turns = false;
};

bool makeLadder(uint32_t dim, double base, double stretch, std::vector<double>* ladder, std::string* error) {
    RopeRule rule = {};
    rule.kind = stretch == 1 ? ROPE_RULE_DEFAULT : ROPE_RULE_NTK;
    rule.rotary_dim = dim;
    rule.base = base;
    rule.factor = stretch;
    double scale;
    RopeReason reason;
    if (dim < 2 || dim % 2 != 0 || dim > 2 * ROPE_MAX_PAIRS) {
        return refuse(error, "an axis has " + std::to_string(dim) + " elements of a head; it must be even and from 2 to " +
                                 std::to_string(2 * ROPE_MAX_PAIRS));
    }
    ladder->resize(dim / 2);
    return ropeMakeFrequencies(&rule, ladder->data(), &scale, &reason) == ROPE_SUCCESS || refuse(error, reason.text);
}

bool makeFrequencies(const Ladders& ladders, ModelEncoding* model, std::string* error) {
    const size_t axes = ladders.dims.size();
    uint64_t elements = 0;
    for (const uint32_t dim : ladders.dims) elements += dim;
    if (elements > model->head_dim || elements > 2 * ROPE_MAX_PAIRS) {
        return refuse(error, "axes of " + std::to_string(elements) + " elements do not fit into a head of " +
                                 std::to_string(model->head_dim) + ", or one of " + std::to_string(2 * ROPE_MAX_PAIRS));
    }
    model->rotary_dim = static_cast<uint32_t>(elements);
    model->rule.base = ladders.base;
    model->rule.rotary_dim = model->rotary_dim;
    model->frequencies.resize(elements / 2);
    model->axes.resize(elements / 2);
    std::vector<double> ladder;
    for (size_t axis = 0, begin = 0; axis < axes; begin += ladders.dims[axis++] / 2) {
        const uint32_t dim = ladders.every_other ? model->rotary_dim : ladders.dims[axis];
        if (!makeLadder(dim, ladders.base, ladders.stretches.empty() ? 1 : ladders.stretches[axis], &ladder, error))
            return false;
        for (size_t i = 0; i < ladders.dims[axis] / 2; ++i) {
            const size_t pair = ladders.in_turns ? i * axes + axis : begin + i;
            model->frequencies[pair] = ladders.times * ladder[ladders.every_other ? i * axes + axis : i];
            model->axes[pair] = static_cast<uint8_t>(axis);
        }
    }
    return true;
}

std::vector<std::string> words(const char* text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
}

// ---- Vision towers -------------------------------------------------------------------------------------------------

// A number, or the first of a list of two.
bool readSide(const Json& config, const char* key, double* side, std::string* error) {
    const Json* value = find(config, key);
    if (value == nullptr || !value->is_array()) return readNumber(config, key, 1, kMaxCount, side, error);
    if (value->empty()) return refuse(error, std::string("the configuration's ") + key + " is empty");
    return readNumber(Json{{key, value->front()}}, key, 1, kMaxCount, side, error);
}

// SAM 3: the layers without windows take the whole image for one.
bool readWindows(const Json& config, double* times, std::string* error) {
    double window = 24, image = 1008, patch = 14;
    if (!readNumber(config, "window_size", 1, kMaxCount, &window, error) ||
        !readSide(config, "image_size", &image, error) || !readSide(config, "patch_size", &patch, error))
        return false;
    const double patches = std::floor(image / patch);
    if (patches < 1) return refuse(error, "the configuration's image_size is less than its patch_size");
    *times = window / patches;
    return true;
}

bool chooseLayer(const Grid& grid, const std::string& wanted, ModelEncoding* model, std::string* error) {
    std::vector<std::string>& names = model->layer_types;
    names = {grid.has(kMemory) ? "memory_attention" : "vision"};
    if (grid.has(kWindows)) names = {"full_attention", "window_attention"};
    model->layer_type = names[0];
    if (wanted.empty() || wanted == names[0] || (wanted == "vision" && grid.has(kWindows))) return true;
    model->layer_type = wanted;
    return (grid.has(kWindows) && wanted == names[1]) ||
           refuse(error, "the configuration has no layer type " + shown(wanted) + "; it has " + shown(Json(names)));
}

bool readPrefix(const Grid& grid, uint32_t* prefix, std::string* error) {
    double registers = grid.type == "sapiens2" ? 8 : 0;
    if (!readNumber(grid.config, "num_register_tokens", 0, 1e6, &registers, error)) return false;
    *prefix = 1 + static_cast<uint32_t>(registers);
    return registers == std::floor(registers) ||
           refuse(error, "the configuration's num_register_tokens is " + shown(registers) +
                             "; it must be a whole number");
}

bool shareHead(const Grid& grid, const ModelEncoding& model, std::vector<uint32_t>* dims, std::string* error) {
    const uint32_t count = static_cast<uint32_t>(model.axis_names.size());
    const uint32_t dim = model.head_dim / count / 2 * 2;
    dims->assign(count, dim);
    return grid.has(kRoundsDown) || dim * count == model.head_dim ||
           refuse(error, "a head of " + std::to_string(model.head_dim) + " elements cannot be shared by " +
                             std::to_string(count) + " axes in whole pairs");
}

bool readTower(const Grid& grid, const std::string& layer_type, ModelEncoding* model, std::string* error) {
    const Tower& tower = *grid.tower;
    const char* base_key = grid.has(kMemory) ? "memory_attention_rope_theta" : "rope_theta";
    std::vector<std::string> read = {"memory_attention_rope_feat_sizes", "memory_attention_rope_dropout",
                                     "memory_attention_rope_k_sizes"};
    if (!grid.has(kMemory)) read.clear();
    if (grid.has(kReadsBase)) read.insert(read.end(), {base_key, "rope_parameters", "rope_scaling"});
    Ladders ladders;
    ladders.base = tower.base;
    ladders.every_other = grid.has(kEveryOther);
    ladders.in_turns = grid.has(kInTurns);
    ladders.times = grid.has(kTurnsOfPi) ? kTwoPi : 1;
    model->axis_names = words(tower.axes);
    model->pairing = tower.pairing;
    if (!chooseLayer(grid, layer_type, model, error) || !checkKeys(grid, read, error) ||
        !readTowerHead(grid, &model->head_dim, error) ||
        (grid.has(kReadsBase) && !readBase(grid.config, base_key, &ladders.base, error)) ||
        !shareHead(grid, *model, &ladders.dims, error) ||
        (grid.has(kPrefix) && !readPrefix(grid, &model->skip_first, error)))
        return false;
    if (grid.has(kWindows) && model->layer_type == "full_attention" &&
        !readWindows(grid.config, &ladders.times, error))
        return false;
    model->skip_last = grid.has(kClassLast) ? 1 : 0;
    model->chunk_dim = grid.has(kChunked) ? ladders.dims[0] : 0;
    if (grid.has(kFromOne)) model->ignored_note = "the model's own code counts coordinates from 1, as positions must";
    if (grid.has(kCentres)) model->ignored_note = "positions are the centres of patches, from -1 to 1 over the image";
    return makeFrequencies(ladders, model, error);
}

// ---- Painters ------------------------------------------------------------------------------------------------------

bool readList(const Grid& grid, ModelEncoding* model, std::vector<uint32_t>* dims, std::string* error) {
    const Painter& painter = *grid.painter;
    for (const uint32_t dim : painter.dims) {
        if (dim != 0) dims->push_back(dim);
    }
    const Json* list = find(grid.config, painter.list);
    if (list != nullptr) {
        if (!checkKind(grid.config, painter.list, Kind::numbers, error)) return false;
        dims->clear();
        for (const Json& item : *list) {
            const double dim = item.get<double>();
            if (dim >= 2 && dim <= kMaxHeadDim && std::fmod(dim, 2) == 0) dims->push_back(static_cast<uint32_t>(dim));
        }
        if (dims->size() != list->size() || dims->size() < 2 || dims->size() > ROPE_MAX_AXES) {
            return refuse(error, std::string("the configuration's ") + painter.list + " is " + shown(*list) +
                                     "; it must be 2 to " + std::to_string(ROPE_MAX_AXES) + " even numbers");
        }
    }
    uint64_t sum = 0;
    for (const uint32_t dim : *dims) sum += dim;
    if (model->head_dim == 0) model->head_dim = static_cast<uint32_t>(sum);
    if (model->axis_names.size() != dims->size()) {
        model->axis_names.clear();
        for (size_t axis = 0; axis < dims->size(); ++axis) model->axis_names.push_back(std::to_string(axis));
    }
    return sum == model->head_dim ||
           refuse(error, std::string("the configuration's ") + painter.list + " is of " + std::to_string(sum) +
                             " elements, and a head has " + std::to_string(model->head_dim) + "; they must agree");
}

// CogVideoX: only where it is asked for.
bool checkAsked(const Grid& grid, std::string* error) {
    bool turns = grid.painter->share != Share::cogvideo || grid.type == "EasyAnimateTransformer3DModel";
    const char* key = "use_rotary_positional_embeddings";
    if (!readSwitch(grid.config, key, &turns, error)) return false;
    return turns || refuse(error, std::string("the configuration's ") + key +
                                      " is not true: the model has no rotation");
}

bool readStretches(const Json& config, std::vector<double>* stretches, std::string* error) {
    *stretches = {2, 1, 1};
    const Json* list = find(config, "rope_scale");
    if (list == nullptr) return true;
    if (!checkKind(config, "rope_scale", Kind::numbers, error)) return false;
    *stretches = list->get<std::vector<double>>();
    bool fits = stretches->size() == 3;
    for (const double stretch : *stretches) fits = fits && stretch >= 1e-6 && stretch <= 1e6;
    return fits || refuse(error, "the configuration's rope_scale is " + shown(*list) +
                                     "; it must be three numbers from 1e-06 to 1e+06");
}

bool readPainter(const Grid& grid, ModelEncoding* model, std::string* error) {
    const Painter& painter = *grid.painter;
    const bool cosmos = grid.type == "CosmosTransformer3DModel", wan = painter.share == Share::wan;
    std::vector<std::string> read;
    if (painter.share == Share::cogvideo) read = {"use_rotary_positional_embeddings"};
    if (wan) read = {cosmos ? "rope_scale" : "rope_max_seq_len", "rope_temporal_skip_len"};
    if (painter.list != nullptr) read = {painter.list, "use_layer3d_rope"};
    if (painter.base_key != nullptr) read.push_back(painter.base_key);
    Ladders ladders;
    ladders.base = painter.base;
    model->axis_names = words(painter.axes);
    model->pairing = painter.pairing;
    model->head_dim = painter.head_dim;
    if (!checkKeys(grid, read, error) || !checkAsked(grid, error) ||
        !readCount(grid.config, "attention_head_dim", kMaxHeadDim, &model->head_dim, error) ||
        (painter.base_key != nullptr && !readBase(grid.config, painter.base_key, &ladders.base, error)) ||
        (cosmos && !readStretches(grid.config, &ladders.stretches, error)))
        return false;
    const uint32_t head = model->head_dim, sixth = 2 * (head / 6), eighths = head / 8 * 3, third = head / 3;
    if (wan) ladders.dims = {head - 2 * sixth, sixth, sixth};
    if (painter.share == Share::cogvideo) ladders.dims = {head / 4, eighths, eighths};
    if (painter.share == Share::thirds) ladders.dims = {third, third, third};
    if (painter.share == Share::listed && !readList(grid, model, &ladders.dims, error)) return false;
    if (painter.share == Share::thirds) model->chunk_dim = third;
    if (const char* note = positionNote(grid.type)) model->ignored_note = note;
    return makeFrequencies(ladders, model, error);
}

} // namespace

bool findGrid(const Json& config, const std::string& layer_type, Grid* grid, std::string* error) {
    if (config.contains("_class_name") && !config.contains("model_type"))
        return findPainterOf(config, layer_type, grid, error);
    if (!readText(config, "model_type", &grid->type, error)) return false;
    grid->tower = findTower(grid->type, isVisionPart(config));
    grid->config = config;
    const bool asked = layer_type == "vision" || layer_type == "window_attention";
    return grid->tower != nullptr || !asked || findVision(config, grid, error);
}

bool readGrid(const Grid& grid, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    model->model_type = grid.type;
    const bool read = grid.painter != nullptr ? readPainter(grid, model, error)
                                              : readTower(grid, request.layer_type, model, error);
    if (!read || request.rotary_dim == 0 || request.rotary_dim == model->rotary_dim) return read;
    return refuse(error, "the axes of " + shown(grid.type) + " share " + std::to_string(model->rotary_dim) +
                             " elements; a part of " + std::to_string(request.rotary_dim) + " is of another model");
}

} // namespace config
} // namespace rope
