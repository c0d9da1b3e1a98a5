// A model's encoding as JSON, whose names frequencies.schema.json describes.
#pragma once

#include "models/config.hpp"

namespace tool {

const char* frequenciesSchema(); // the text of that file

std::string encodingJson(const rope::ModelEncoding& model);

} // namespace tool
