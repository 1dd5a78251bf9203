// From ONNX files to a model: the build domain. Never linked into a daemon.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artifact/model.h"
#include "runtime/base/result.h"
#include "tools/compile/reference_vectors.h"

namespace modeld::compile {

// A graph input turned into a constant (shapes, axes, repeats that a model takes as data).
struct FrozenInput {
  TensorType type;
  std::vector<std::byte> bytes;
};

// What is being done and how far it is (0..1); called from the compiling thread.
using Progress = std::function<void(std::string_view what, double fraction)>;

struct CompileOptions {
  std::optional<std::filesystem::path> pipeline;  // TOML, PIPELINE.md
  // Initializers are replaced by this file's tensors of the same name (safetensors.h).
  std::optional<std::filesystem::path> weights;
  // How float32 weights and intermediates are stored (PRECISION.md).
  Precision precision = Precision::kFloat32;
  std::map<std::string, FrozenInput> frozen_inputs;
  std::map<std::string, Shape> input_shapes;  // of graph inputs whose file leaves extents open
  bool optimise = true;                       // false: import, inference and folding of shapes only
  bool make_references = true;  // run the reference interpreter for vectors and tolerances
  Progress progress;
};

struct PassReport {
  std::string pass;
  size_t ops_before = 0;
  size_t ops_after = 0;
  std::vector<std::string> changes;  // one line each, naming the nodes
};

struct CompiledModel {
  Model model;
  std::vector<PassReport> passes;
  std::vector<SliceError> errors;  // against the network in double; empty without references
};

// Reads at most what the file system gives as regular files inside the folder of `onnx` (or, with
// a pipeline, the folder of the pipeline's stage files). Errors name the node. Two compiles may run
// at once in one process.
Result<CompiledModel> compile_onnx(const std::filesystem::path& onnx,
                                   const CompileOptions& options = {});

}  // namespace modeld::compile
