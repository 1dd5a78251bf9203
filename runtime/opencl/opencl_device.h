// The opencl backend: any conforming OpenCL 1.2 device.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/opencl/cl_calls.h"
#include "runtime/opencl/opencl_capture.h"
#include "runtime/opencl/select_device.h"
#include "runtime/opencl/traits.h"
#include "runtime/opencl/tuning.h"

namespace modeld::opencl {

struct OpenOptions {
  DeviceWish wish;
  // In place of the device's defaults; what the device lacks is not believed.
  std::optional<Traits> traits;
  // In place of the file in `kernel_folder`.
  std::optional<Tuning> tuning;
  const ClCalls* calls = nullptr;  // null: the driver's
  // Where built kernels are kept between starts (BinaryCache), and what tuning found (tuning.h);
  // empty: nowhere.
  std::filesystem::path kernel_folder;
};

// kNotFound where no device fits, with the reason for each. Warnings about platforms that do not
// answer are part of that.
Result<std::unique_ptr<Device>> open_device(const OpenOptions& options);

// Kernels of a capture of this backend; empty for another's.
std::vector<StepInfo> opencl_steps(const Capture& capture);
void keep_opencl_step_times(Capture& capture, bool keep);

}  // namespace modeld::opencl
