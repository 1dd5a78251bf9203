// A model from what the user named: a verified artifact, or an ONNX file compiled in memory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/model.h"

namespace modeld::modelctl {

class Subcommand;

struct ModelOptions {
  std::string path;
  std::string trust;     // key file or folder; empty: signatures are not asked for
  std::string pipeline;  // for .onnx
  std::string precision = "f32";
  std::vector<std::string> input_shapes;  // for .onnx
};

// Adds the positional model, --trust, --pipeline, --precision and --input-shape.
void add_model_options(Subcommand& command, ModelOptions& options);

struct LoadedModel {
  Model model;
  std::string artifact;  // hex digest, or "compiled in memory"
  SignatureState signature = SignatureState::kUnsigned;
  bool from_file = false;  // an artifact, not an ONNX file
};

// These are tools on a desk: without --trust an unsigned or group-writable file is accepted (its
// hashes are checked all the same).
Result<LoadedModel> load_model(const ModelOptions& options, bool make_references);

// Trust from --trust; empty text: any signature or none.
Result<TrustPolicy> trust_policy(const std::string& trust);

}  // namespace modeld::modelctl
