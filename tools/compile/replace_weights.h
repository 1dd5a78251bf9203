// Initializers of networks replaced by those of a safetensors file.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "tools/compile/onnx_graph.h"

namespace modeld::compile {

struct NamedGraph {
  std::string stage;  // its name in the pipeline
  OnnxGraph* graph;
};

// Every tensor of the file takes the place of the initializer of its name ("stage.name" where
// several stages have it). kRefused, and nothing replaced, for a name that no initializer has (told
// apart: optimizer state, which is no part of a model), a type that differs, a name that several
// stages have. Answers the file's SHA-256, hex.
Result<std::string> replace_weights(std::span<const NamedGraph> graphs,
                                    const std::filesystem::path& file);

}  // namespace modeld::compile
