#include "daemon/service/topic_rings.h"

#include "daemon/inputs/topic_inputs.h"
#include "ipc/frames/frame_source.h"
#include "ipc/msgq/msgq_transport.h"

namespace modeld {

std::vector<std::string> daemon_topics(const DaemonConfig& config) {
  const bool road = config.kind == DaemonKind::kModeld;
  const auto names =
      config.transport.names == TopicNames::kNew ? ipc::NameSet::kNew : ipc::NameSet::kOld;
  std::vector<std::string> topics;
  const auto role = road ? ipc::Role::kModeld : ipc::Role::kDmonitoringmodeld;
  for (const std::string_view topic : ipc::published_topics(role)) topics.emplace_back(topic);
  for (const std::string_view name : road ? driving_services() : monitoring_services()) {
    topics.emplace_back(ipc::wire_name(*ipc::find_service(name), names));
  }
  const std::vector<uint32_t> streams =
      road ? std::vector<uint32_t>{ipc::kNarrowRoadStream, ipc::kWideRoadStream}
           : std::vector<uint32_t>{ipc::kCabinStream};
  for (const uint32_t stream : streams) {
    topics.push_back(ipc::notification_topic(config.camera.server, stream));
  }
  return topics;
}

Result<std::vector<std::filesystem::path>> make_topic_rings(const DaemonConfig& config,
                                                            const std::string& prefix) {
  std::vector<std::filesystem::path> rings;
  if (config.transport.kind != TransportKind::kMsgq) return rings;
  ipc::MsgqOptions options;
  options.prefix = prefix;
  MODELD_ASSIGN(const auto transport,
                ipc::MsgqTransport::create(Clock::real(), std::move(options)));
  for (const std::string& topic : daemon_topics(config)) {
    MODELD_ASSIGN(auto path, transport->make_ring(topic));
    rings.push_back(std::move(path));
  }
  return rings;
}

}  // namespace modeld
