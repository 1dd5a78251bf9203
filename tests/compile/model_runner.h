// Runs a compiled model on the reference backend, frame by frame.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/artifact/model.h"
#include "runtime/device/device.h"
#include "runtime/reference/host_tensor.h"

namespace modeld::test {

using Tensors = std::map<std::string, HostTensor>;

// Throws std::runtime_error (which fails the test) on anything unexpected.
class ModelRunner {
 public:
  explicit ModelRunner(const Model& model);

  // One frame: replay and commit. Inputs must have the types of the contract.
  Tensors run(const Tensors& inputs);
  // Current value of a state, by the name of its `current` tensor.
  std::vector<double> state(const std::string& name) const;

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Capture> capture_;
};

}  // namespace modeld::test
