// The networks of a pipeline, read and checked, before and while they become one draft.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/compile/importer.h"
#include "tools/compile/model_builder.h"
#include "tools/compile/onnx_graph.h"
#include "tools/compile/output_slices.h"
#include "tools/compile/pipeline.h"

namespace modeld::compile {

struct Stage {
  const StageSpec* spec = nullptr;
  OnnxGraph graph;
  std::map<std::string, std::string> next_of;  // state input -> the output that feeds it
  // Once it is in the draft.
  ValueMap outputs;
  std::map<std::string, std::vector<NamedRange>> slices;  // of outputs that are not states
};

struct Networks {
  std::vector<Stage> stages;   // `spec` points into the pipeline
  std::string weights_sha256;  // empty if the networks' own weights are used
};

// Stage files are read from the folder of `onnx`. kInvalidArgument for an input or output of the
// pipeline, or a frozen input, that no network has.
Result<Networks> read_networks(const std::filesystem::path& onnx, const Pipeline& pipeline,
                               const BuildOptions& options);

// Names the slices of every output that is no state: from the pipeline, else from the file, else
// one. `draft` holds the stage's outputs.
Status name_slices(Stage& stage, const Draft& draft);

// What the graph's initializers and constants take.
uint64_t constant_bytes(const OnnxGraph& graph);

}  // namespace modeld::compile
