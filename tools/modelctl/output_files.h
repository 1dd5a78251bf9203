// What a capture answered, as files.
#pragma once

#include <filesystem>

#include "runtime/device/capture.h"
#include "tools/modelctl/report.h"

namespace modeld::modelctl {

// Every output of the last completed replay as `folder`/NAME.npy; makes the folder. Answers a list
// of {name, type, file}.
Result<Json> write_outputs(const Capture& capture, const std::filesystem::path& folder);

}  // namespace modeld::modelctl
