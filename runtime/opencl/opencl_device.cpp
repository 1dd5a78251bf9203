#include "runtime/opencl/opencl_device.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>

#include "runtime/opencl/cl_buffer.h"
#include "runtime/opencl/kernel_cache.h"
#include "runtime/program/expand.h"

namespace modeld::opencl {
namespace {

Probed answer(bool yes) {
  return yes ? Probed::kYes : Probed::kNo;
}

// True if a command's four times come back in order.
Probed probe_timestamps(const Session& session) {
  const ClCalls& calls = session.calls();
  const auto memory = session.create_buffer(sizeof(cl_uint));
  if (!memory.ok()) return Probed::kUnknown;
  const cl_uint value = 1;
  cl_event event = nullptr;
  if (calls.EnqueueWriteBuffer(session.queue(), memory->get(), CL_FALSE, 0, sizeof value, &value, 0,
                               nullptr, &event) != CL_SUCCESS) {
    return Probed::kUnknown;
  }
  const ClEventHandle handle(event, calls.ReleaseEvent);
  if (calls.Finish(session.queue()) != CL_SUCCESS) return Probed::kUnknown;
  cl_ulong before = 0;
  for (const cl_profiling_info what : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                       CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END}) {
    cl_ulong at = 0;
    if (calls.GetEventProfilingInfo(event, what, sizeof at, &at, nullptr) != CL_SUCCESS) {
      return Probed::kNo;
    }
    if (at == 0 || at < before) return Probed::kNo;
    before = at;
  }
  return Probed::kYes;
}

// True if the device works on the host's own pages: a mapping of imported memory is that memory.
Probed probe_import(const Session& session) {
  if (!can_import_host(session.info())) return Probed::kNo;
  constexpr size_t kPage = 4096;
  const std::unique_ptr<void, void (*)(void*)> pages(std::aligned_alloc(kPage, kPage), &std::free);
  if (pages == nullptr) return Probed::kUnknown;
  const auto memory =
      session.create_buffer(kPage, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, pages.get());
  if (!memory.ok()) return Probed::kNo;
  const ClCalls& calls = session.calls();
  cl_int code = CL_SUCCESS;
  void* const mapped = calls.EnqueueMapBuffer(session.queue(), memory->get(), CL_TRUE, CL_MAP_READ,
                                              0, kPage, 0, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return Probed::kUnknown;
  const bool unmapped = calls.EnqueueUnmapMemObject(session.queue(), memory->get(), mapped, 0,
                                                    nullptr, nullptr) == CL_SUCCESS &&
                        calls.Finish(session.queue()) == CL_SUCCESS;
  if (!unmapped) return Probed::kUnknown;
  return answer(mapped == pages.get());
}

DeviceCapabilities probe(const Session& session) {
  const DeviceInfo& info = session.info();
  DeviceCapabilities found;
  found.backend = "opencl";
  if ((info.type & CL_DEVICE_TYPE_GPU) != 0) {
    found.device_class = DeviceClass::kGpu;
  } else {
    found.device_class = info.software() ? DeviceClass::kCpu : DeviceClass::kAccelerator;
  }
  found.name = info.name;
  found.driver = info.platform_name;
  found.driver_version = info.driver_version;
  found.address_bits = info.address_bits;
  found.max_allocation_bytes = info.max_allocation;
  if (const long page = sysconf(_SC_PAGESIZE); page > 0) {
    found.page_bytes.push_back(static_cast<uint64_t>(page));
  }
  found.base_alignment_bytes = session.base_alignment();
  found.software_device = answer(info.software());
  found.unified_memory = answer(info.unified_memory);
  found.host_pointer_import = probe_import(session);
  // Import by descriptor is not tried: an extension's name is no answer.
  const bool may_import = info.has_extension("cl_khr_external_memory_dma_buf") ||
                          info.has_extension("cl_arm_import_memory_dma_buf");
  found.dma_buf_import = may_import ? Probed::kUnknown : Probed::kNo;
  found.peer_access = Probed::kNo;
  // One in-order queue is used.
  found.copy_queue = Probed::kNo;
  found.fp16 = answer(info.has_extension("cl_khr_fp16"));
  found.bf16 = Probed::kNo;  // OpenCL has no arithmetic on it
  found.int8 = answer(info.has_extension("cl_khr_integer_dot_product"));
  found.timestamps = probe_timestamps(session);
  const Probed shared = answer(info.unified_memory);
  const Probed coherent = info.software() ? Probed::kYes : Probed::kUnknown;
  found.memory.push_back({"device", shared, Probed::kUnknown, Probed::kUnknown, Probed::kUnknown});
  if (found.host_pointer_import == Probed::kYes) {
    found.memory.push_back(
        {"imported", Probed::kYes, coherent, Probed::kUnknown, Probed::kUnknown});
  }
  return found;
}

class OpenClDevice final : public Device {
 public:
  OpenClDevice(SessionPointer session, const std::filesystem::path& kernel_folder)
      : session_(std::move(session)),
        capabilities_(probe(*session_)),
        memory_(DeviceArena::make(session_)),
        kernels_(session_, kernel_folder) {}

  const DeviceCapabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override {
    return OpenClBuffer::allocate(session_, bytes, alignment);
  }

  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override {
    return OpenClBuffer::import(session_, pages);
  }

  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override {
    try {
      MODELD_ASSIGN(const auto frames, match_frames(program, options));
      MODELD_ASSIGN(auto capture,
                    OpenClCapture::record(session_, *memory_, kernels_, expanded(program), weights,
                                          frames, options.load_deadline));
      return std::unique_ptr<Capture>(std::move(capture));
    } catch (const std::bad_alloc&) {
      return Error(ErrorCode::kExhausted, "memory for the opencl capture");
    }
  }

 private:
  SessionPointer session_;
  const DeviceCapabilities capabilities_;
  const std::shared_ptr<DeviceArena> memory_;
  KernelCache kernels_;
};

// What the device lacks cannot be switched on by an option.
Traits checked(Traits traits, const DeviceInfo& info) {
  traits.has_double = traits.has_double && info.has_double();
  const bool native = (info.single_config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  if (traits.division == Division::kNative && !native) traits.division = Division::kIntegers;
  if (traits.division == Division::kDouble && !traits.has_double) {
    traits.division = Division::kIntegers;
  }
  return traits;
}

// Nothing that is wrong with a file keeps a device from its work.
Tuning tuning_of(const OpenOptions& options, const DeviceInfo& info) {
  if (options.tuning) return *options.tuning;
  if (options.kernel_folder.empty()) return {};
  auto tuning = Tuning::load(tuning_file(options.kernel_folder), info);
  if (tuning.ok()) {
    spdlog::info("opencl kernels are tuned: entries={}", tuning->size());
    return std::move(tuning).value();
  }
  if (tuning.error().code != ErrorCode::kNotFound) {
    spdlog::warn("opencl kernels keep their default shapes: {}", to_string(tuning.error()));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const OpenOptions& options) {
  try {
    const ClCalls& calls = options.calls != nullptr ? *options.calls : driver_calls();
    const Discovered found = discover_devices(calls);
    auto chosen = select_device(found.devices, options.wish);
    if (!chosen.ok()) {
      Error error = std::move(chosen).error();
      for (const std::string& problem : found.problems) error.found += "; " + problem;
      return error;
    }
    const DeviceInfo& info = found.devices[*chosen];
    const Traits traits = checked(options.traits.value_or(default_traits(info)), info);
    MODELD_ASSIGN(auto session, Session::open(calls, info, traits, tuning_of(options, info)));
    return std::unique_ptr<Device>(
        std::make_unique<OpenClDevice>(std::move(session), options.kernel_folder));
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "memory for the opencl device");
  }
}

std::vector<StepInfo> opencl_steps(const Capture& capture) {
  const auto* own = dynamic_cast<const OpenClCapture*>(&capture);
  return own == nullptr ? std::vector<StepInfo>() : own->steps();
}

void keep_opencl_step_times(Capture& capture, bool keep) {
  if (auto* own = dynamic_cast<OpenClCapture*>(&capture)) own->keep_step_times(keep);
}

}  // namespace modeld::opencl
