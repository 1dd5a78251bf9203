// Kernels as the driver compiled them, kept in files between starts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artifact/sha256.h"
#include "runtime/opencl/device_info.h"

namespace modeld::opencl {

// One file per program, named by the hash of everything its binary depends on: the generated
// source (with it the artifact, the device's traits and the version of the generator), the build
// options, platform, device and driver. Files repeat that key and a hash of their content; one that
// does not verify, or that others than this user may write, counts as absent and is replaced.
// Without a folder, or after the first file that cannot be written, nothing is kept: then one
// warning is logged. Not thread-safe.
class BinaryCache {
 public:
  // `folder` is made if its parent exists; empty: nothing is kept.
  BinaryCache(const DeviceInfo& device, std::filesystem::path folder);

  bool enabled() const { return !folder_.empty(); }
  // Empty if there is none that verifies.
  std::vector<unsigned char> load(std::string_view options, std::string_view source) const;
  void store(std::string_view options, std::string_view source,
             const std::vector<unsigned char>& binary);

 private:
  Sha256 key(std::string_view options, std::string_view source) const;
  std::filesystem::path path(const Sha256& key) const;
  void remove_oldest() const;
  void give_up(const std::string& why);

  const std::string device_;
  std::filesystem::path folder_;
};

}  // namespace modeld::opencl
