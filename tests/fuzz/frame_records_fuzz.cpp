// The frame-buffer hand-shake as a hostile camera server may send it. The first byte is the number
// of descriptors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "ipc/frames/vision_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  (void)modeld::ipc::decode_notification(bytes);
  const auto records = modeld::ipc::decode_records(bytes, data[0], 0);
  if (!records.ok()) return 0;
  for (const auto& record : *records) {
    if (!record.layout.check().ok() || record.layout.bytes_in_use() > record.length) std::abort();
  }
  return 0;
}
