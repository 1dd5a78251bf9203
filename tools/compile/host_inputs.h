// The inputs of a program: what the host gives per frame, and the warps of frames.
#pragma once

#include <string>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/base/result.h"
#include "tools/compile/draft.h"
#include "tools/compile/pipeline.h"

namespace modeld::compile {

// Adds program inputs to a draft as they are asked for; a source asked for twice is one input.
// Inputs are named after their source.
class HostInputs {
 public:
  explicit HostInputs(Draft& draft) : draft_(draft) {}

  // A source of contract.h with the type it has there; kInvalidArgument for other names.
  Result<TensorId> vector(const std::string& source);
  // An input only a person can feed, of the given name and type.
  Result<TensorId> unsourced(const std::string& name, const TensorType& type);
  // u8: the warped frame.
  Result<TensorId> warped(const std::string& frame, const WarpSpec& warp);

  // In the order of the draft's inputs.
  const std::vector<InputContract>& contracts() const { return contracts_; }
  const std::vector<CameraContract>& cameras() const { return cameras_; }

 private:
  TensorId add(InputContract contract);
  const InputContract* find(const std::string& name) const;
  TensorId id_of(const std::string& name) const;

  Draft& draft_;
  std::vector<InputContract> contracts_;
  std::vector<CameraContract> cameras_;
};

}  // namespace modeld::compile
