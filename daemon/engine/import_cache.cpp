#include "daemon/engine/import_cache.h"

#include <utility>

namespace modeld {

Result<Buffer*> ImportCache::import(const ipc::Frame& frame) {
  if (frame.info.server_id != server_id_) {
    entries_.clear();
    server_id_ = frame.info.server_id;
  }
  for (const Entry& entry : entries_) {
    if (entry.index == frame.info.buffer_index && entry.pages == frame.buffer) {
      return entry.buffer.get();
    }
  }
  // The device interface has one kind of wrapper; a frame input is only ever read through it.
  const std::span<const std::byte> pages = frame.buffer->bytes();
  MODELD_ASSIGN(auto buffer,
                device_.import_shared(frame.buffer->fd(),
                                      {const_cast<std::byte*>(pages.data()), pages.size()}));
  entries_.push_back({frame.info.buffer_index, frame.buffer, std::move(buffer)});
  return entries_.back().buffer.get();
}

}  // namespace modeld
