#include "runtime/opencl/kernel_cache.h"

#include <array>
#include <cstdio>
#include <set>

#include "runtime/opencl/prelude.h"

namespace modeld::opencl {
namespace {

// FNV-1a, twice with different starts: names need not resist an attacker, only not collide.
uint64_t hash(std::string_view text, uint64_t state) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return state;
}

std::string build_log(const Session& session, cl_program program) {
  size_t size = 0;
  const ClCalls& calls = session.calls();
  const cl_device_id device = session.info().device;
  constexpr size_t kMost = 1 << 20;
  if (calls.GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
          CL_SUCCESS ||
      size == 0 || size > kMost) {
    return "no log";
  }
  std::string log(size, '\0');
  if (calls.GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
      CL_SUCCESS) {
    return "no log";
  }
  constexpr size_t kShown = 2000;
  return log.substr(0, std::min(log.find('\0'), kShown));
}

}  // namespace

KernelSource::KernelSource(std::string with_token, bool flushes)
    : text(std::move(with_token)), flushes_subnormals(flushes) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%c%016llx%016llx", flushes ? 'f' : 'k',
                static_cast<unsigned long long>(hash(text, 0xcbf29ce484222325u)),
                static_cast<unsigned long long>(hash(text, 0x9e3779b97f4a7c15u)));
  name = buffer.data();
  const size_t at = text.find("KERNEL");
  text.replace(at, 6, name);
}

Status KernelCache::build(std::span<const KernelSource* const> sources) {
  MODELD_TRY(build(sources, false));
  return build(sources, true);
}

Status KernelCache::build(std::span<const KernelSource* const> sources, bool flushes) {
  std::string text;
  std::set<std::string> fresh;
  for (const KernelSource* source : sources) {
    if (source->flushes_subnormals != flushes || by_name_.contains(source->name) ||
        !fresh.insert(source->name).second)
      continue;
    text += source->text;
  }
  if (fresh.empty()) return {};
  text = prelude(session_->traits()) + text;
  const std::string options =
      build_options(session_->traits()) + (flushes ? " -cl-denorms-are-zero" : "");
  ClProgramHandle program = from_binary(options, text);
  if (program.get() == nullptr) {
    MODELD_ASSIGN(program, from_source(options, text));
    if (binaries_.enabled()) fresh_.push_back({programs_.size(), options, text});
  }
  programs_.push_back(std::move(program));
  for (const std::string& name : fresh) by_name_[name] = programs_.size() - 1;
  return {};
}

Result<ClProgramHandle> KernelCache::from_source(const std::string& options,
                                                 const std::string& source) {
  const ClCalls& calls = session_->calls();
  const char* start = source.c_str();
  const size_t length = source.size();
  cl_int code = CL_SUCCESS;
  ClProgramHandle program(
      calls.CreateProgramWithSource(session_->context(), 1, &start, &length, &code),
      calls.ReleaseProgram);
  MODELD_TRY(cl_status("clCreateProgramWithSource", code));
  code = calls.BuildProgram(program.get(), 1, &session_->info().device, options.c_str(), nullptr,
                            nullptr);
  if (code != CL_SUCCESS) {
    Error error = cl_error("clBuildProgram", code);
    error.message += ": " + build_log(*session_, program.get());
    return error;
  }
  return program;
}

ClProgramHandle KernelCache::from_binary(const std::string& options, const std::string& source) {
  const std::vector<unsigned char> binary = binaries_.load(options, source);
  if (binary.empty()) return {};
  const ClCalls& calls = session_->calls();
  const cl_device_id device = session_->info().device;
  const unsigned char* start = binary.data();
  const size_t length = binary.size();
  cl_int taken = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  ClProgramHandle program(calls.CreateProgramWithBinary(session_->context(), 1, &device, &length,
                                                        &start, &taken, &code),
                          calls.ReleaseProgram);
  if (code != CL_SUCCESS || taken != CL_SUCCESS) return {};
  code = calls.BuildProgram(program.get(), 1, &device, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) return {};
  return program;
}

std::vector<unsigned char> KernelCache::binary_of(cl_program program) const {
  const ClCalls& calls = session_->calls();
  size_t size = 0;
  if (calls.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  std::vector<unsigned char> binary(size);
  unsigned char* start = binary.data();
  if (size == 0 || calls.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof start, &start,
                                        nullptr) != CL_SUCCESS) {
    return {};
  }
  return binary;
}

void KernelCache::keep_binaries() {
  for (const Fresh& fresh : fresh_) {
    binaries_.store(fresh.options, fresh.source, binary_of(programs_[fresh.program].get()));
  }
  fresh_.clear();
}

Result<ClKernelHandle> KernelCache::create(const KernelSource& source) {
  const auto found = by_name_.find(source.name);
  if (found == by_name_.end()) return Error(ErrorCode::kInternal, "kernel was not built");
  cl_int code = CL_SUCCESS;
  cl_kernel kernel =
      session_->calls().CreateKernel(programs_[found->second].get(), source.name.c_str(), &code);
  MODELD_TRY(cl_status("clCreateKernel", code));
  return ClKernelHandle(kernel, session_->calls().ReleaseKernel);
}

}  // namespace modeld::opencl
