// Networks and what surrounds them as one draft: inputs, warps, histories, stages, states, outputs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/base/result.h"
#include "tools/compile/compile.h"
#include "tools/compile/draft.h"
#include "tools/compile/onnx_graph.h"
#include "tools/compile/output_slices.h"
#include "tools/compile/pipeline.h"

namespace modeld::compile {

struct BuiltModel {
  Draft draft;
  // In the draft's order.
  std::vector<InputContract> inputs;
  std::vector<CameraContract> cameras;
  std::vector<std::vector<NamedRange>> slices;  // by output: ascending, covering all of it
  std::string source_sha256;
  std::string checkpoint;
  std::vector<std::pair<std::string, int64_t>> opsets;
};

struct BuildOptions {
  // False without a pipeline: graph inputs and outputs keep their types and nobody feeds them but
  // `modelctl run`. True: every graph input must be mentioned, floats go in and out as f32.
  bool has_pipeline = false;
  bool fold_all = true;
  const std::map<std::string, FrozenInput>* frozen = nullptr;
  const std::map<std::string, Shape>* shapes = nullptr;
  const std::filesystem::path* weights = nullptr;  // safetensors; null: the networks' own
};

// Stage files are read from the folder of `onnx`.
Result<BuiltModel> build_model(const std::filesystem::path& onnx, const Pipeline& pipeline,
                               const BuildOptions& options);

}  // namespace modeld::compile
