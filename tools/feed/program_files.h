// Files that belong to this program, whether it runs installed or from a build folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"

namespace modeld {

// The folder of the running executable.
Result<std::filesystem::path> program_folder();

// `relative` under the nearest folder above the running executable that has it.
std::optional<std::filesystem::path> find_above_program(const std::filesystem::path& relative);

// A daemon: beside this program (installed) or in the build folder's daemon room. kNotFound naming
// both places.
Result<std::filesystem::path> find_daemon(const std::string& name);

// A pipeline file: config/pipelines of the source tree around the build folder, or the installed
// share/modeld/pipelines.
Result<std::filesystem::path> find_pipeline(const std::string& name);

}  // namespace modeld
