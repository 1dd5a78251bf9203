#include "runtime/opencl/cl_buffer.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#include "runtime/base/checked.h"

namespace modeld::opencl {
namespace {

using Pages = std::unique_ptr<std::byte, void (*)(void*)>;

Pages no_pages() {
  return {nullptr, &std::free};
}

Status check_range(uint64_t offset, uint64_t length, uint64_t size) {
  if (range_fits(offset, length, size)) return {};
  return Error(ErrorCode::kInvalidArgument, "buffer access out of range")
      .expecting("inside " + std::to_string(size) + " bytes",
                 std::to_string(length) + " bytes at offset " + std::to_string(offset));
}

Error exhausted(uint64_t bytes, uint64_t alignment, uint64_t available) {
  return Error(ErrorCode::kExhausted, "buffer allocation")
      .expecting("at most " + std::to_string(available) + " bytes",
                 std::to_string(bytes) + " bytes aligned to " + std::to_string(alignment));
}

uint64_t alignment_of(const void* address) {
  return uint64_t{1} << std::countr_zero(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

bool can_import_host(const DeviceInfo& device) {
  return device.unified_memory;
}

Result<std::unique_ptr<Buffer>> OpenClBuffer::allocate(SessionPointer session, uint64_t bytes,
                                                       uint64_t alignment) {
  if (!std::has_single_bit(alignment)) {
    return Error(ErrorCode::kInvalidArgument, "buffer alignment")
        .expecting("a power of two", std::to_string(alignment));
  }
  const uint64_t available = session->info().max_allocation;
  if (bytes > available || alignment > available) return exhausted(bytes, alignment, available);
  if (alignment <= session->base_alignment()) {
    MODELD_ASSIGN(ClMemHandle memory, session->create_buffer(bytes));
    const uint64_t promised = session->base_alignment();
    return std::unique_ptr<Buffer>(new OpenClBuffer(std::move(session), std::move(memory), bytes,
                                                    promised, BufferOwnership::kOwned, no_pages()));
  }
  // More than the device promises is only ours to give where it works in the host's memory.
  if (!can_import_host(session->info())) {
    return Error(ErrorCode::kUnsupported, "buffer alignment")
        .expecting("at most " + std::to_string(session->base_alignment()) + " bytes",
                   std::to_string(alignment));
  }
  const auto rounded = checked_align_up(std::max<uint64_t>(bytes, 1), alignment);
  if (!rounded) return exhausted(bytes, alignment, available);
  Pages pages(static_cast<std::byte*>(std::aligned_alloc(alignment, *rounded)), &std::free);
  if (pages == nullptr) return exhausted(bytes, alignment, available);
  std::fill_n(pages.get(), *rounded, std::byte{0});
  MODELD_ASSIGN(
      ClMemHandle memory,
      session->create_buffer(*rounded, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, pages.get()));
  return std::unique_ptr<Buffer>(new OpenClBuffer(std::move(session), std::move(memory), bytes,
                                                  alignment, BufferOwnership::kOwned,
                                                  std::move(pages)));
}

Result<std::unique_ptr<Buffer>> OpenClBuffer::import(SessionPointer session,
                                                     std::span<std::byte> pages) {
  if (pages.empty()) {
    return Error(ErrorCode::kInvalidArgument, "host import").expecting("pages", "0 bytes");
  }
  if (!can_import_host(session->info())) {
    return Error(ErrorCode::kUnsupported, "host import")
        .expecting("a device that shares the host's memory", session->info().name);
  }
  const uint64_t needed = session->base_alignment();
  if (alignment_of(pages.data()) < needed) {
    return Error(ErrorCode::kUnsupported, "host import")
        .expecting("pages aligned to " + std::to_string(needed) + " bytes",
                   std::to_string(alignment_of(pages.data())));
  }
  MODELD_ASSIGN(
      ClMemHandle memory,
      session->create_buffer(pages.size(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, pages.data()));
  return std::unique_ptr<Buffer>(new OpenClBuffer(std::move(session), std::move(memory),
                                                  pages.size(), alignment_of(pages.data()),
                                                  BufferOwnership::kImported, no_pages()));
}

bool OpenClBuffer::needs_flush() const {
  // What is owned is reached by write() and read() alone. Imported pages are written by others;
  // only a device that runs on the host's processor sees that by itself for certain.
  return ownership_ == BufferOwnership::kImported && !session_->info().software();
}

Status OpenClBuffer::write(uint64_t offset, std::span<const std::byte> bytes) {
  MODELD_TRY(check_range(offset, bytes.size(), bytes_));
  if (bytes.empty()) return {};
  return cl_status("clEnqueueWriteBuffer", session_->calls().EnqueueWriteBuffer(
                                               session_->queue(), memory_.get(), CL_TRUE, offset,
                                               bytes.size(), bytes.data(), 0, nullptr, nullptr));
}

Status OpenClBuffer::read(uint64_t offset, std::span<std::byte> bytes) {
  MODELD_TRY(check_range(offset, bytes.size(), bytes_));
  if (bytes.empty()) return {};
  return cl_status("clEnqueueReadBuffer", session_->calls().EnqueueReadBuffer(
                                              session_->queue(), memory_.get(), CL_TRUE, offset,
                                              bytes.size(), bytes.data(), 0, nullptr, nullptr));
}

// Mapping and unmapping is how OpenCL hands pages between host and device.
Status OpenClBuffer::map_and_unmap(cl_map_flags flags) {
  const ClCalls& calls = session_->calls();
  cl_int code = CL_SUCCESS;
  void* const mapped = calls.EnqueueMapBuffer(session_->queue(), memory_.get(), CL_TRUE, flags, 0,
                                              bytes_, 0, nullptr, nullptr, &code);
  MODELD_TRY(cl_status("clEnqueueMapBuffer", code));
  return cl_status(
      "clEnqueueUnmapMemObject",
      calls.EnqueueUnmapMemObject(session_->queue(), memory_.get(), mapped, 0, nullptr, nullptr));
}

Status OpenClBuffer::flush() {
  if (!needs_flush()) return {};
  // "Invalidate" keeps the device's older bytes from being copied over the host's newer ones.
  return map_and_unmap(CL_MAP_WRITE_INVALIDATE_REGION);
}

Status OpenClBuffer::invalidate() {
  return needs_flush() ? map_and_unmap(CL_MAP_READ) : Status();
}

}  // namespace modeld::opencl
