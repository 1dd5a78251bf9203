// From a TOML file to a DaemonConfig, or to the list of what is wrong with it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/daemon_config.h"
#include "runtime/base/result.h"

namespace modeld {

// Everything wrong with a text, in the order of its lines; `config` is meaningful only if
// `problems` is empty. Each problem names file and line, key, what was expected and found.
struct ConfigReport {
  DaemonConfig config;
  std::vector<Error> problems;
};

// `name` stands for the text in messages. Reads no environment and no other file.
ConfigReport parse_config(std::string_view text, const std::string& name, DaemonKind kind);

// The first problem of the file as an error, naming how many more there are.
Result<DaemonConfig> load_config(const std::filesystem::path& path, DaemonKind kind);

// Like parse_config for a file of at most kMaxConfigBytes; a file that cannot be read is a problem.
constexpr uint64_t kMaxConfigBytes = uint64_t{1} << 20;
ConfigReport check_config(const std::filesystem::path& path, DaemonKind kind);

// "section.key" of every key a daemon of this kind knows, in the order of the shipped file.
std::vector<std::string> known_keys(DaemonKind kind);

}  // namespace modeld
