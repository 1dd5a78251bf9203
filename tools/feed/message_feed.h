// The messages of the rest of the system that the two daemons listen to, from a car that does
// nothing remarkable: straight on at 20 m/s, calibrated, nobody touching the wheel.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ipc/schema/message_writer.h"
#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// Used by one thread. Source of topics, rates and fields: interoperability facts 2.4, 3.5 and 7.3.
class MessageFeed {
 public:
  // `frame_height` tells the camera set: 760 is the os04c10, everything else the ox03c10.
  static Result<std::unique_ptr<MessageFeed>> create(const Clock& clock, ipc::Transport& transport,
                                                     ipc::NameSet names, uint32_t frame_height);

  Status device_state();             // 2 Hz
  Status calibration();              // 4 Hz
  Status lateral_delay();            // 4 Hz
  Status driver_monitoring_state();  // 20 Hz
  Status car_state();                // 100 Hz
  Status car_control();              // 100 Hz
  // After each frame, as the camera server does.
  Status camera_state(std::string_view service, uint32_t frame_id, uint64_t sof_ns,
                      uint64_t eof_ns);

  // Any bytes on the topic of one of the services above.
  Status send_bytes(std::string_view service, std::span<const std::byte> message);

  // A parameter store with the one file modeld waits for.
  static Status write_car_params(const std::filesystem::path& folder);

 private:
  MessageFeed(const Clock& clock, uint32_t frame_height);
  Status send(std::string_view service);

  const Clock& clock_;
  const uint32_t frame_height_;
  ipc::MessageWriter writer_;
  std::map<std::string, std::unique_ptr<ipc::Publisher>, std::less<>> publishers_;
};

}  // namespace modeld
