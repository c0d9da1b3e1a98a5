#include "models/text.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace rope {
namespace config {
namespace {

constexpr double kMaxCount = 1 << 30;

struct Grid {
    Json config;
    std::string type;             // model_type or _class_name
    const Tower* tower = nullptr; // one of the two is set
    const DiffusersModel* diffusers = nullptr;
};

// How the frequencies of the axes are made.
struct GridFrequencies {
    std::vector<uint32_t> dims;    // elements of each axis
    std::vector<double> stretches; // the factor of the rule NTK on each axis; empty: no axis is stretched
    double base = 0;
    double position_factor = 1;   // the model multiplies positions by this number
    bool shared_sequence = false; // the axes share one sequence of frequencies
    bool round_robin = false;     // the pairs go to the axes round robin
};

// ---- What vision towers and models of diffusers share ---------------------------------------------------------------

void checkGridRule(const Json& rule, const std::string& name, bool partial) {
    for (const auto& [key, value] : rule.items()) {
        const bool kind = isOneOf(key, {"rope_type", "type"}) && (value == "default" || value == "axial");
        const bool whole = key == "partial_rotary_factor" && (partial || value == 1);
        if (isOff(value) || kind || whole || key == "rope_theta") continue;
        refuse("the configuration's " + name + " has the key " + shown(key) + " of " + shown(value) +
               ", which its code does not take on a grid");
    }
}

double readGridBase(const Json& config, const char* key, bool partial, double otherwise) {
    const double outer = readNumber(config, {key}, 1, kMaxBase, NAN);
    double inner = NAN;
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
        const Json* rule = findKey(config, name, JsonKind::object);
        if (rule == nullptr) continue;
        checkGridRule(*rule, name, partial);
        inner = readNumber(*rule, {"rope_theta"}, 1, kMaxBase, inner);
    }
    if (!std::isnan(outer) && !std::isnan(inner) && outer != inner)
        refuse("the configuration has two values of rope_theta, " + shown(outer) + " and " + shown(inner) +
               "; they must agree");
    return !std::isnan(outer) ? outer : !std::isnan(inner) ? inner : otherwise;
}

void checkGridKeys(const Grid& grid, const std::vector<std::string>& read) {
    for (const auto& item : grid.config.items()) {
        const std::string& key = item.key();
        const bool known = std::find(read.begin(), read.end(), key) != read.end();
        if (isOff(item.value()) || !isAboutRotation(key) || known) continue;
        refuse("the configuration's key " + shown(key) + " is not one that is read for " + shown(grid.type));
    }
}

std::vector<std::string> splitWords(const char* text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
}

RopePairing pairingOf(Pairing pairing) {
    return pairing == Pairing::half ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
}

// ---- Models of diffusers --------------------------------------------------------------------------------------------

std::vector<uint32_t> readAxisDims(const Grid& grid, ModelEncoding* encoding) {
    const DiffusersModel& row = *grid.diffusers;
    const std::string name = row.dims_key;
    std::vector<uint32_t> dims(row.dims.begin(), row.dims.end());
    if (const Json* list = findKey(grid.config, row.dims_key, JsonKind::numbers)) {
        dims.clear();
        for (const Json& item : *list) {
            const double dim = item.get<double>();
            if (dim >= 2 && dim <= kMaxHeadDim && std::fmod(dim, 2) == 0) dims.push_back(static_cast<uint32_t>(dim));
        }
        if (dims.size() != list->size() || dims.size() < 2 || dims.size() > ROPE_MAX_AXES) {
            refuse("the configuration's " + name + " is " + shown(*list) + "; it must be 2 to " +
                   std::to_string(ROPE_MAX_AXES) + " even numbers");
        }
    }
    uint64_t sum = 0;
    for (const uint32_t dim : dims) sum += dim;
    if (encoding->head_dim == 0) encoding->head_dim = static_cast<uint32_t>(sum);
    if (encoding->axis_names.size() != dims.size()) {
        encoding->axis_names.clear();
        for (size_t axis = 0; axis < dims.size(); ++axis) encoding->axis_names.push_back(std::to_string(axis));
    }
    if (sum == encoding->head_dim) return dims;
    refuse("the configuration's " + name + " is of " + std::to_string(sum) + " elements, and a head has " +
           std::to_string(encoding->head_dim) + "; they must agree");
}

std::vector<double> readStretches(const Json& config, const Counts& otherwise) {
    const Json* list = findKey(config, "rope_scale", JsonKind::numbers);
    if (list == nullptr) return {otherwise.begin(), otherwise.end()};
    const std::vector<double> stretches = list->get<std::vector<double>>();
    bool fits = stretches.size() == 3;
    for (const double stretch : stretches) fits = fits && stretch >= 1e-6 && stretch <= 1e6;
    if (fits) return stretches;
    refuseValue("rope_scale", *list, "three numbers from 1e-06 to 1e+06");
}

GridFrequencies readDiffusersModel(const Grid& grid, ModelEncoding* encoding) {
    const DiffusersModel& row = *grid.diffusers;
    const char* asks = "use_rotary_positional_embeddings";
    const bool stretched = row.stretches.size() != 0;
    std::vector<std::string> read;
    if (row.split == AxisSplit::eighths) read = {asks};
    if (row.split == AxisSplit::sixths)
        read = {stretched ? "rope_scale" : "rope_max_seq_len", "rope_temporal_skip_len"};
    if (row.dims_key != nullptr) read = {row.dims_key, "use_layer3d_rope"};
    if (row.base_key != nullptr) read.emplace_back(row.base_key);
    encoding->axis_names = splitWords(row.axes);
    encoding->pairing = pairingOf(row.pairing);
    checkGridKeys(grid, read);
    if (!readBool(grid.config, asks, row.asked_by == nullptr))
        refuse(std::string("the configuration's ") + asks + " is not true: the model has no rotation");
    encoding->head_dim = readCount(grid.config, {"attention_head_dim"}, kMaxHeadDim, row.head_dim);
    GridFrequencies frequencies;
    frequencies.base = row.base_key != nullptr ? readGridBase(grid.config, row.base_key, false, row.base) : row.base;
    if (stretched) frequencies.stretches = readStretches(grid.config, row.stretches);
    const uint32_t head = encoding->head_dim, sixth = 2 * (head / 6), eighths = head / 8 * 3;
    if (row.split == AxisSplit::sixths) frequencies.dims = {head - 2 * sixth, sixth, sixth};
    if (row.split == AxisSplit::eighths) frequencies.dims = {head / 4, eighths, eighths};
    if (row.split == AxisSplit::listed) frequencies.dims = readAxisDims(grid, encoding);
    if (row.chunked && frequencies.dims != std::vector<uint32_t>(3, sixth))
        refuse("a head of " + std::to_string(head) + " elements cannot be shared by 3 axes in whole pairs");
    if (row.chunked) encoding->chunk_dim = sixth;
    if (row.note != nullptr) encoding->notes.emplace_back(row.note);
    return frequencies;
}

// ---- Vision towers --------------------------------------------------------------------------------------------------

uint32_t readTowerHead(const Grid& grid) {
    const Json& config = grid.config;
    const Tower& tower = *grid.tower;
    uint32_t width = tower.width, heads = tower.heads, times = 1;
    if (tower.memory_attention) {
        width = readCount(config, {"memory_attention_hidden_size"}, kMaxCount, width);
        heads = readCount(config, {"memory_attention_num_attention_heads"}, kMaxCount, heads);
        times = readCount(config, {"memory_attention_downsample_rate"}, kMaxCount, times);
    } else {
        const Keys usual_width = {"hidden_size"}, usual_heads = {"num_heads", "num_attention_heads"};
        const uint32_t head = readCount(config, {"head_dim"}, kMaxHeadDim, 0);
        width = readCount(config, tower.width_keys.size() != 0 ? tower.width_keys : usual_width, kMaxCount, width);
        if (!tower.whole_width)
            heads = readCount(config, tower.heads_keys.size() != 0 ? tower.heads_keys : usual_heads, kMaxCount, heads);
        if (head != 0) return head;
    }
    const uint64_t parts = uint64_t{heads} * times;
    if (width % parts == 0) return static_cast<uint32_t>(width / parts);
    refuse("the configuration's width of " + std::to_string(width) + " elements is no multiple of " +
           std::to_string(parts) + ", and makes no whole heads");
}

// Reads a number, or the first number of a list of two.
double readSide(const Json& config, const char* key, double otherwise) {
    const Json* value = findKey(config, key);
    if (value == nullptr || !value->is_array()) return readNumber(config, {key}, 1, kMaxCount, otherwise);
    if (value->empty()) refuse(std::string("the configuration's ") + key + " is empty");
    return readNumber(Json{{key, value->front()}}, {key}, 1, kMaxCount, otherwise);
}

// SAM 3's layers without windows take the whole image for one window: positions are scaled to the size of a window.
double readWindowScale(const Json& config) {
    const double window = readNumber(config, {"window_size"}, 1, kMaxCount, 24);
    const double image = readSide(config, "image_size", 1008);
    const double patches = std::floor(image / readSide(config, "patch_size", 14));
    if (patches < 1) refuse("the configuration's image_size is less than its patch_size");
    return window / patches;
}

void chooseTowerLayer(const Tower& tower, const std::string& wanted, ModelEncoding* encoding) {
    std::vector<std::string>& names = encoding->layer_types;
    names = {tower.memory_attention ? "memory_attention" : "vision"};
    if (tower.window_attention) names = {"full_attention", "window_attention"};
    encoding->layer_type = names[0];
    encoding->types_differ = names.size() > 1;
    if (wanted.empty() || wanted == names[0] || (wanted == "vision" && tower.window_attention)) return;
    encoding->layer_type = wanted;
    if (tower.window_attention && wanted == names[1]) return;
    refuse("the configuration has no layer type " + shown(wanted) + "; it has " + shown(Json(names)));
}

uint32_t readRegisters(const Grid& grid) {
    const double registers = readNumber(grid.config, {"num_register_tokens"}, 0, 1e6, grid.tower->registers);
    if (registers == std::floor(registers)) return static_cast<uint32_t>(registers);
    refuseValue("num_register_tokens", registers, "a whole number");
}

std::vector<uint32_t> splitHead(const Tower& tower, const ModelEncoding& encoding) {
    const uint32_t count = static_cast<uint32_t>(encoding.axis_names.size());
    const uint32_t dim = encoding.head_dim / count / 2 * 2;
    if (tower.rounds_down || dim * count == encoding.head_dim) return std::vector<uint32_t>(count, dim);
    refuse("a head of " + std::to_string(encoding.head_dim) + " elements cannot be shared by " + std::to_string(count) +
           " axes in whole pairs");
}

// Half of the width belongs to each axis. A partial_rotary_factor of the heads must say that too.
void checkHalfWidth(const Json& config, uint32_t width) {
    const Json* rules = findKey(config, "rope_parameters");
    const double heads = readNumber(config, {"num_attention_heads"}, 1, kMaxCount, 8);
    double partial = readNumber(config, {"partial_rotary_factor"}, 1e-6, 1e6, 4);
    if (rules != nullptr) partial = readNumber(*rules, {"partial_rotary_factor"}, 1e-6, 1e6, partial);
    if (partial * width / heads * 2 == width) return;
    refuse("a partial_rotary_factor of " + shown(partial) + " of " + shown(heads) +
           " heads does not fill the width; half of the heads' number does");
}

void dropKey(Grid* grid, const char* key, std::vector<std::string>* notes) {
    const Json* found = findKey(grid->config, key);
    if (found == nullptr) return;
    const Json* inner = found->is_object() ? findKey(*found, "rope_theta") : found;
    if (inner != nullptr && *inner != grid->tower->base) {
        notes->push_back(std::string("the configuration's ") + key + " of " + shown(*found) +
                         " is ignored, because the code of the model type " + shown(grid->type) + " does not read it");
    }
    grid->config.erase(key);
}

// Takes out what the tower's own code ignores, after its kind was checked.
void dropUnread(Grid* grid, std::vector<std::string>* notes) {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        findKey(grid->config, key, JsonKind::object);
        if (grid->tower->flat_base) dropKey(grid, key, notes);
    }
    findKey(grid->config, "rope_theta", JsonKind::number);
    if (findOwnRules(grid->config).found) return;
    for (const char* key : grid->tower->ignores_without_rule) dropKey(grid, key, notes);
}

GridFrequencies readTower(Grid grid, const std::string& layer_type, ModelEncoding* encoding) {
    const Tower& tower = *grid.tower;
    dropUnread(&grid, &encoding->notes);
    const char* base_key = tower.memory_attention ? "memory_attention_rope_theta" : "rope_theta";
    std::vector<std::string> read;
    if (tower.memory_attention)
        read = {"memory_attention_rope_feat_sizes", "memory_attention_rope_dropout", "memory_attention_rope_k_sizes"};
    read.insert(read.end(), {base_key, "rope_parameters", "rope_scaling"});
    if (tower.whole_width) read.emplace_back("partial_rotary_factor");
    encoding->axis_names = splitWords(tower.axes);
    encoding->pairing = pairingOf(tower.pairing);
    chooseTowerLayer(tower, layer_type, encoding);
    checkGridKeys(grid, read);
    encoding->head_dim = readTowerHead(grid);
    GridFrequencies frequencies;
    frequencies.base = readGridBase(grid.config, base_key, tower.whole_width, tower.base);
    frequencies.shared_sequence = tower.shared_sequence;
    frequencies.round_robin = tower.round_robin;
    frequencies.dims = splitHead(tower, *encoding);
    encoding->skip_first = tower.skip_first + (tower.prefix_tokens ? readRegisters(grid) : 0);
    frequencies.position_factor = tower.position_factor;
    if (tower.window_attention && encoding->layer_type == encoding->layer_types[0])
        frequencies.position_factor = readWindowScale(grid.config);
    if (tower.whole_width) checkHalfWidth(grid.config, encoding->head_dim);
    encoding->skip_last = tower.skip_last;
    encoding->chunk_dim = tower.chunked ? frequencies.dims[0] : 0;
    encoding->notes.insert(encoding->notes.end(), tower.notes.begin(), tower.notes.end());
    return frequencies;
}

// ---- The parts of a configuration -----------------------------------------------------------------------------------

Grid openDiffusersGrid(const Json& config, const std::string& layer_type) {
    Grid grid = {config, readText(config, "_class_name")};
    if (const char* why = whyNoDiffusersRotation(grid.type))
        refuse("the class " + shown(grid.type) + " is no rotation by fixed frequencies: " + why);
    grid.diffusers = findDiffusersModel(grid.type);
    if (grid.diffusers == nullptr) refuse("the class " + shown(grid.type) + " is not one that is known");
    if (!layer_type.empty())
        refuse("the configuration has no layer types, and so none that is called " + shown(layer_type));
    return grid;
}

// Goes down to the part that has the layer type. The part's model_type may be the whole model's.
void openTowerPart(const std::string& layer_type, Grid* grid) {
    const bool memory = layer_type == "memory_attention";
    const std::string last = memory ? "tracker_config" : "vision_config";
    bool found = false;
    for (const char* key :
         {"thinker_config", "detector_config", "tracker_config", "vision_config", "backbone_config"}) {
        const Json* inner = findKey(grid->config, key, JsonKind::object);
        const bool other = memory != (key == std::string("tracker_config"));
        if (inner == nullptr || other) continue;
        found = found || key == last;
        Json part = *inner;
        grid->config = std::move(part);
        grid->type = readText(grid->config, "model_type", grid->type);
    }
    if (!found) refuse("the configuration has no " + last);
    grid->tower = findTower(grid->type, true);
    if (grid->tower != nullptr) return;
    const std::string subject = "the part " + last + " of the model type " + shown(grid->type);
    bool never;
    const char* why = whyNoRotation(grid->type, &never);
    if (why != nullptr && !never) refuse(subject + " has no rotation: " + why);
    refuse(subject + " is not one that is known");
}

std::vector<double> makeAxisFrequencies(uint32_t dim, double base, double stretch) {
    if (dim < 2 || dim % 2 != 0 || dim > 2 * ROPE_MAX_PAIRS) {
        refuse("an axis has " + std::to_string(dim) + " elements of a head; it must be even and from 2 to " +
               std::to_string(2 * ROPE_MAX_PAIRS));
    }
    RopeRule rule = {};
    rule.kind = stretch == 1 ? ROPE_RULE_DEFAULT : ROPE_RULE_NTK;
    rule.rotary_dim = dim;
    rule.base = base;
    rule.factor = stretch;
    double scale;
    RopeReason reason;
    std::vector<double> frequencies(dim / 2);
    if (ropeMakeFrequencies(&rule, frequencies.data(), &scale, &reason) != ROPE_SUCCESS) refuse(reason.text);
    return frequencies;
}

// Takes the head as found; sets the rotary part, the frequencies and their axes.
void makeGridFrequencies(const GridFrequencies& wanted, ModelEncoding* encoding) {
    const size_t axes = wanted.dims.size();
    uint64_t elements = 0;
    for (const uint32_t dim : wanted.dims) elements += dim;
    if (elements > encoding->head_dim || elements > uint64_t{2} * ROPE_MAX_PAIRS) {
        refuse("axes of " + std::to_string(elements) + " elements do not fit into a head of " +
               std::to_string(encoding->head_dim) + ", or one of " + std::to_string(2 * ROPE_MAX_PAIRS));
    }
    encoding->rotary_dim = static_cast<uint32_t>(elements);
    encoding->rule.base = wanted.base;
    encoding->rule.rotary_dim = encoding->rotary_dim;
    encoding->frequencies.resize(elements / 2);
    encoding->axes.resize(elements / 2);
    for (size_t axis = 0, begin = 0; axis < axes; begin += wanted.dims[axis++] / 2) {
        const uint32_t dim = wanted.shared_sequence ? encoding->rotary_dim : wanted.dims[axis];
        const double stretch = wanted.stretches.empty() ? 1 : wanted.stretches[axis];
        const std::vector<double> of_axis = makeAxisFrequencies(dim, wanted.base, stretch);
        for (size_t i = 0; i < wanted.dims[axis] / 2; ++i) {
            const size_t pair = wanted.round_robin ? i * axes + axis : begin + i;
            encoding->frequencies[pair] =
                wanted.position_factor * of_axis[wanted.shared_sequence ? i * axes + axis : i];
            encoding->axes[pair] = static_cast<uint8_t>(axis);
        }
    }
}

} // namespace

std::optional<ModelEncoding> readGrid(const Json& config, const ConfigRequest& request) {
    Grid grid;
    if (config.contains("_class_name") && !config.contains("model_type")) {
        grid = openDiffusersGrid(config, request.layer_type);
    } else {
        // Older files have the whole model's type in the vision part too.
        const bool is_part = config.contains("num_heads") && config.contains("depth") &&
                             !config.contains("num_attention_heads") && !config.contains("vision_config") &&
                             !config.contains("text_config");
        grid.type = readText(config, "model_type");
        grid.tower = findTower(grid.type, is_part);
        const bool asked = isOneOf(request.layer_type, {"vision", "window_attention", "memory_attention"});
        if (grid.tower == nullptr && !asked) return std::nullopt;
        grid.config = config;
        if (grid.tower == nullptr) openTowerPart(request.layer_type, &grid);
    }
    ModelEncoding encoding;
    encoding.model_type = grid.type;
    encoding.on_a_grid = true;
    if (request.layer) {
        const bool windows = grid.tower != nullptr && grid.tower->window_attention;
        refuse("the layers of " + shown(grid.type) + (windows ? " are told apart by their types" : " rotate alike") +
               ", and are not told apart by their numbers; --layer chooses among those of a text");
    }
    makeGridFrequencies(grid.diffusers != nullptr ? readDiffusersModel(grid, &encoding)
                                                  : readTower(grid, request.layer_type, &encoding),
                        &encoding);
    if (request.rotary_dim == 0 || request.rotary_dim == encoding.rotary_dim) return encoding;
    refuse("the axes of " + shown(grid.type) + " share " + std::to_string(encoding.rotary_dim) +
           " elements; a part of " + std::to_string(request.rotary_dim) + " is of another model");
}

} // namespace config
} // namespace rope
