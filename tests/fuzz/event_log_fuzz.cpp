// A log of Cap'n Proto events: every message is opened and every pointer of it followed.
#include <cstddef>
#include <cstdint>
#include <span>

#include "ipc/schema/event_log.h"
#include "ipc/schema/read_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  modeld::ipc::EventLog log(std::as_bytes(std::span(data, size)));
  modeld::ipc::MessageReader reader;
  for (;;) {
    const auto message = log.next();
    if (!message) return 0;
    (void)modeld::ipc::read_event(reader, *message, [](modeld::wire::Event::Reader event) {
      (void)event.totalSize();
      if (event.isModelV2()) (void)event.getModelV2().getMeta().getDisengagePredictions().getT();
      if (event.isCarState()) (void)event.getCarState().getVEgo();
    });
  }
}
