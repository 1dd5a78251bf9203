// Writes a model file. Equal models give equal bytes.
#pragma once

#include <filesystem>

#include "runtime/artifact/model.h"
#include "runtime/artifact/signing.h"

namespace modeld {

// Written beside `path` and renamed, mode 0644. With `key`, signed.
Status write_artifact(const std::filesystem::path& path, const Model& model,
                      const SigningKey* key = nullptr);

// Rewrites the signature (and, for `modelctl bench --accept`, the acceptance records) of a file
// that verifies against its own block hashes.
Status resign_artifact(const std::filesystem::path& path, const SigningKey& key,
                       const std::vector<Acceptance>* acceptances = nullptr);

}  // namespace modeld
