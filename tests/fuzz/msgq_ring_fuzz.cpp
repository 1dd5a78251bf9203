// A shared-memory ring as a hostile peer may leave it: the input is the file's start, every reader
// and the writer must end, stay inside, and give out nothing that is not in the ring.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ipc/msgq/ring_reader.h"
#include "ipc/msgq/ring_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace modeld::ipc;
  constexpr size_t kData = 512;
  std::vector<uint64_t> words((kRingHeaderBytes + kData) / 8);
  const auto memory = std::as_writable_bytes(std::span(words));
  std::memcpy(memory.data(), data, std::min(size, memory.size()));
  const auto view = RingView::over(memory);
  if (!view.ok()) std::abort();

  RingReader queueing(*view, 1, false, {});
  RingReader conflating(*view, 2, true, {});
  queueing.enter();
  conflating.enter();
  // Where the input says the writer and the readers stand, as if they had moved since.
  std::memcpy(memory.data(), data, std::min({size, kRingHeaderBytes / 3, memory.size()}));
  for (int i = 0; i < 4; ++i) {
    for (RingReader* reader : {&queueing, &conflating}) {
      (void)reader->ready();
      const auto message = reader->receive();
      if (message && (message->empty() || message->size() >= kData)) std::abort();
    }
    if (size > memory.size()) {
      const size_t more = std::min<size_t>(size - memory.size(), 16);
      std::memcpy(memory.data() + 8 * (i + 1), data + memory.size(), more);
    }
  }
  RingWriter writer(*view, 3);
  writer.take_over();
  const std::vector<std::byte> message(24);
  for (int i = 0; i < 40; ++i) {
    if (!writer.send(message).ok()) std::abort();
    (void)queueing.receive();
  }
  return 0;
}
