// Contract and program to and from the bytes of a manifest (manifest.capnp, FORMAT.md).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/artifact/sha256.h"
#include "runtime/base/result.h"
#include "runtime/program/program.h"

namespace modeld {

struct Manifest {
  Contract contract;
  Program program;
  std::vector<Sha256> weight_block_hashes;
};

// What decides whether the rest is worth reading.
struct ManifestHead {
  ModelRole role = ModelRole::kOther;
  std::vector<DeviceClass> device_classes;
};

// Canonical: equal manifests give equal bytes. kInvalidArgument if it is larger than a file may
// hold.
Result<std::vector<std::byte>> encode_manifest(const Manifest& manifest);

// Both are safe for hostile bytes; kRefused says which field was expected and found. What is
// decoded is well formed, but only verify() and check_contract() say whether it makes sense.
Result<ManifestHead> decode_manifest_head(std::span<const std::byte> bytes);
Result<Manifest> decode_manifest(std::span<const std::byte> bytes);

// The rule for every text of a manifest: at most kMaxTextBytes, valid UTF-8, no control
// characters (names reach terminals and logs).
constexpr size_t kMaxTextBytes = 4096;
bool is_clean_text(std::string_view text);

}  // namespace modeld
