// Kernel shapes on a real OpenCL device: made, checked against the model's reference, timed.
#pragma once

#include "runtime/artifact/model.h"
#include "runtime/opencl/opencl_device.h"
#include "tools/modelctl/kernel_tuner.h"

namespace modeld::modelctl {

// Every trial opens the device anew. `model`, with reference vectors, outlives the bench.
class KernelTrial final : public KernelBench {
 public:
  KernelTrial(const Model& model, opencl::DeviceWish wish, const opencl::Traits& defaults)
      : model_(model), wish_(std::move(wish)), defaults_(defaults) {}

  Result<TrialTimes> try_shape(const opencl::KernelShape& shape) override;
  Result<TrialTimes> try_tuning(const opencl::Tuning& tuning) override;

 private:
  Result<TrialTimes> measure(const opencl::Traits& traits, const opencl::Tuning& tuning) const;

  const Model& model_;
  const opencl::DeviceWish wish_;
  const opencl::Traits defaults_;
};

}  // namespace modeld::modelctl
