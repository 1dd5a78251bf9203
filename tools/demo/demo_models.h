// The two models of a demonstration, made from nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "runtime/base/result.h"

namespace modeld {

struct DemoModels {
  std::filesystem::path driving;     // signed artifact
  std::filesystem::path monitoring;  // signed artifact
  std::filesystem::path trust;       // public key
};

// Writes the sample networks, compiles and signs them with a fresh key, all inside `folder`.
// `tell` is called with what is being done; `stop` is asked before each model (kInterrupted).
Result<DemoModels> make_demo_models(const std::filesystem::path& folder,
                                    const std::function<void(std::string_view)>& tell,
                                    const std::function<bool()>& stop);

}  // namespace modeld
