// Kernels of a device, built from source at most once.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/opencl/binary_cache.h"
#include "runtime/opencl/session.h"

namespace modeld::opencl {

// Source of one kernel: everything from "__kernel void " on, with the token KERNEL for its name.
// Kernels of equal text are one kernel.
struct KernelSource {
  std::string name;  // made from the text and the flag
  std::string text;
  // Subnormal numbers may be taken as zero: sums of products, where trained networks have them in
  // dead channels and processors are slow on them (runtime/cpu/flush_subnormals.h says how little
  // that changes).
  bool flushes_subnormals = false;

  explicit KernelSource(std::string with_token, bool flushes = false);
};

// Not thread-safe.
class KernelCache {
 public:
  // `folder` as BinaryCache takes it.
  KernelCache(SessionPointer session, std::filesystem::path folder)
      : session_(std::move(session)), binaries_(session_->info(), std::move(folder)) {}

  // Builds what is not there yet, as one program for each value of the flag. kDevice with the
  // compiler's log.
  Status build(std::span<const KernelSource* const> sources);
  // A kernel object of its own (arguments are part of it). Its source must have been built.
  Result<ClKernelHandle> create(const KernelSource& source);
  // Keeps the binaries of programs built since the last call. To be called once their kernels have
  // run: drivers finish compiling at the first launch.
  void keep_binaries();

 private:
  // A program built from source, to be kept.
  struct Fresh {
    size_t program;
    std::string options;
    std::string source;
  };

  Status build(std::span<const KernelSource* const> sources, bool flushes);
  // Null if there is no binary, or the driver does not take it.
  ClProgramHandle from_binary(const std::string& options, const std::string& source);
  Result<ClProgramHandle> from_source(const std::string& options, const std::string& source);
  std::vector<unsigned char> binary_of(cl_program program) const;

  SessionPointer session_;
  BinaryCache binaries_;
  std::vector<Fresh> fresh_;
  std::vector<ClProgramHandle> programs_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace modeld::opencl
