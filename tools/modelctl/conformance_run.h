// One ONNX node test compiled, run and compared: `modelctl conformance`, and the test suite.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/device/device.h"

namespace modeld::modelctl {

enum class Verdict { kPassed, kFailed, kUnsupported };

struct CaseResult {
  std::string name;
  Verdict verdict = Verdict::kPassed;
  std::string reason;
};

// Every data set of root/name on `device`, with or without the graph passes. What this build does
// not know is unsupported; everything else that goes wrong is a failure.
CaseResult run_case(Device& device, const std::filesystem::path& root, const std::string& name,
                    bool optimise);

}  // namespace modeld::modelctl
