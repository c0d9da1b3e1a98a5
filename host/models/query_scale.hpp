// The scales of queries and of scores that a model has beside its rotation.
#pragma once

#include "models/source.hpp"

namespace rope {
namespace config {

// Returns which queries are scaled and by what, as the end of a sentence.
std::string describeQueryScaling(const QueryScaling& scaling);

// Takes the model's layers as found. Sets model->query_scaling and adds the sentence about it.
bool readQueryScaling(const Source& source, ModelEncoding* model, std::string* error);

// Adds the sentence about a factor of the softmax scale that goes with the model's rule.
void noteSoftmaxScale(const Source& source, ModelEncoding* model);

} // namespace config
} // namespace rope
