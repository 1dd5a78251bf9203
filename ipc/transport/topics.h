// Topic names: what exists, what it was called before, how fast it comes, who may publish it.
// Source: interoperability facts 2.1 (ports), 2.4 (services) and section 0 (renames).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace modeld::ipc {

// One service of the message bus.
struct Service {
  std::string_view name;      // newest name
  std::string_view old_name;  // the name before the renames; empty if it never changed
  double frequency_hz;        // 0: sent when there is something to say
  int log_decimation;         // of the short log; 0: never in it
  size_t queue_bytes;         // data area of a shared-memory ring
  bool logged;
};

// All services of the newest table, our two health topics last.
std::span<const Service> services();

// By new or old name; null if there is none.
const Service* find_service(std::string_view name);

// Which generation of names a peer speaks.
enum class NameSet : uint8_t { kNew, kOld };

// The name `service` goes by in `names`.
std::string_view wire_name(const Service& service, NameSet names);

// A topic name is 1 to kMaxTopicLength characters of [A-Za-z0-9_]: it becomes part of a path.
constexpr size_t kMaxTopicLength = 64;
Status check_topic_name(std::string_view topic);

// FNV-1a, 64 bit, and the TCP port openpilot derives from it (8023 to 65534).
uint64_t topic_hash(std::string_view topic);
uint16_t topic_port(std::string_view topic);

// What a process is, as far as publishing goes.
enum class Role : uint8_t {
  kModeld,
  kDmonitoringmodeld,
  kDesk,  // tools that stand in for the rest of the system: everything but CAN towards the car
};

// The topics of a daemon, health included; empty for kDesk.
std::span<const std::string_view> published_topics(Role role);

// Daemons publish their own topics and nothing else; nobody here publishes `sendcan`.
bool may_publish(Role role, std::string_view topic);

// check_topic_name and may_publish as one refusal that names both.
Status check_publish(Role role, std::string_view topic);

// The topic of frame-ready notifications: `visionipc_<server>_<stream type>` (facts 1.6).
std::string notification_topic(std::string_view server, uint32_t stream_type);

// Data area of a ring whose topic is not a service.
constexpr size_t kDefaultQueueBytes = size_t{1} << 20;

constexpr std::string_view kModeldHealthTopic = "modeldHealth";
constexpr std::string_view kDmonitoringmodeldHealthTopic = "dmonitoringmodeldHealth";

}  // namespace modeld::ipc
