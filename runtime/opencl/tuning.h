// What the kernels of single ops are shaped by where trying found something better than the
// device's defaults. `modelctl tune` finds it; its file is described in TUNING.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/opencl/device_info.h"
#include "runtime/opencl/traits.h"
#include "runtime/program/program.h"

namespace modeld::opencl {

// Such as "vector=8 tile=4x2 group=64 reduce=64 per_item=1".
std::string to_string(const KernelShape& shape);
// kRefused naming the number that no kernel can be made with.
Status check_shape(const KernelShape& shape, const DeviceInfo& device);

// Kind, attributes and types of inputs and outputs, hashed: ops of one signature have the same
// kernels, in whatever model. 32 hexadecimal digits.
std::string op_signature(const Program& program, const Op& op);

// Shapes by signature. Not thread-safe.
class Tuning {
 public:
  // Null where the defaults are to be used.
  const KernelShape* find(std::string_view signature) const;
  // `comment`: what the op is, for people who read the file.
  void set(std::string signature, const KernelShape& shape, std::string comment);
  // Entries of `newer` replace ours.
  void merge(const Tuning& newer);
  size_t size() const { return shapes_.size(); }

  // As the file holds it; found for `device` and used for no other.
  std::string text(const DeviceInfo& device) const;
  // kUnsupported for another device's, driver's or generator's; kCorrupt for anything else that
  // text() does not write, naming the line.
  static Result<Tuning> parse(std::string_view text, const DeviceInfo& device);
  // kNotFound where there is no file; kRefused for one that somebody else could have written.
  static Result<Tuning> load(const std::filesystem::path& path, const DeviceInfo& device);

 private:
  struct Entry {
    KernelShape shape;
    std::string comment;
  };
  std::map<std::string, Entry, std::less<>> shapes_;
};

// Where a device keeps it: beside the built kernels.
std::filesystem::path tuning_file(const std::filesystem::path& kernel_folder);

}  // namespace modeld::opencl
