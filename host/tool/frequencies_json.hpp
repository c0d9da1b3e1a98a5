// A model's encoding as JSON, whose names frequencies.schema.json describes.
#pragma once

#include "config/config.hpp"

namespace tool {

std::string encodingJson(const rope::ModelEncoding& model);

} // namespace tool
