// Camera buffers wrapped for the device, once each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ipc/frames/frame_source.h"
#include "runtime/base/result.h"
#include "runtime/device/device.h"

namespace modeld {

// Keyed by (server id, buffer index); one cache per stream. Wrappers of a server that is gone are
// dropped as soon as a frame of another one comes. Allocates only for buffers not seen before. Not
// thread-safe; must not outlive the device, nor the captures its buffers are bound to.
class ImportCache {
 public:
  explicit ImportCache(Device& device) : device_(device) {}

  // kUnsupported where the device cannot wrap host pages. Valid until a frame of another server.
  Result<Buffer*> import(const ipc::Frame& frame);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint32_t index = 0;
    std::shared_ptr<const ipc::FrameBuffer> pages;  // must outlive `buffer`
    std::unique_ptr<Buffer> buffer;
  };

  Device& device_;
  uint64_t server_id_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace modeld
