#include <cstdio>
#include <filesystem>

#include "ipc/schema/event_log.h"
#include "ipc/transport/topics.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/message_text.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"
#include "tools/modelctl/transport_options.h"
#include "tools/replay/log_file.h"

namespace modeld::modelctl {
namespace {

constexpr Nanoseconds kWait = 200 * kMillisecond;

struct Options {
  TransportChoice transport;
  std::string source;
  uint64_t count = 0;
  double seconds = 0;
  bool json = false;
};

bool is_health(std::string_view topic) {
  return topic == ipc::kModeldHealthTopic || topic == ipc::kDmonitoringmodeldHealthTopic;
}

Status print(std::span<const std::byte> message, bool health, bool json) {
  auto text = decode_message(message, health, json ? MessageFormat::kJson : MessageFormat::kText);
  if (!text.ok()) return std::move(text).error();
  std::printf("%s\n", text->c_str());
  std::fflush(stdout);
  return {};
}

bool wanted(const Options& options, uint64_t shown) {
  return (options.count == 0 || shown < options.count) && !interrupted();
}

Status dump_log(const Options& options) {
  MODELD_ASSIGN(const replay::LogFile file, replay::read_log_file(options.source));
  ipc::EventLog log(file.bytes);
  uint64_t shown = 0;
  uint64_t broken = 0;
  while (wanted(options, shown)) {
    const auto message = log.next();
    if (!message) break;
    const Status printed = print(*message, false, options.json);
    if (!printed.ok()) {
      // A bad message is one message: the next may be good.
      std::fprintf(stderr, "modelctl: message %llu of %s: %s\n",
                   static_cast<unsigned long long>(log.messages() - 1), options.source.c_str(),
                   to_string(printed.error()).c_str());
      ++broken;
      continue;
    }
    ++shown;
  }
  const ipc::LogLosses& losses = log.losses();
  if (losses.truncated_bytes != 0 || file.cut_short) {
    std::fprintf(stderr, "modelctl: the end of %s is cut short (%llu bytes of a message)\n",
                 options.source.c_str(), static_cast<unsigned long long>(losses.truncated_bytes));
  }
  if (broken == 0 && !losses.damaged()) return {};
  return Error(ErrorCode::kCorrupt, "not everything in the log is a message")
      .expecting("messages only",
                 std::to_string(broken) + " that do not decode, " +
                     std::to_string(losses.too_large) + " too large, " +
                     std::to_string(losses.too_many_segments) + " with too many segments, " +
                     std::to_string(losses.malformed) + " stretches of something else (" +
                     std::to_string(losses.skipped_bytes) + " bytes passed over)")
      .in(options.source);
}

// A name of either generation subscribes to the generation chosen.
std::string topic_of(const Options& options) {
  const ipc::Service* service = ipc::find_service(options.source);
  return service == nullptr ? options.source
                            : std::string(ipc::wire_name(*service, name_set(options.transport)));
}

Status dump_topic(const Options& options) {
  const Clock& clock = Clock::real();
  MODELD_ASSIGN(const auto transport, open_transport(options.transport, clock));
  const std::string topic = topic_of(options);
  MODELD_ASSIGN(const auto subscriber, transport->subscriber(topic, ipc::SubscribeMode::kQueue));
  ipc::Subscriber* const one = subscriber.get();
  const auto duration = static_cast<Nanoseconds>(options.seconds * kSecond);
  const Nanoseconds end = duration > 0 ? clock.monotonic() + duration : 0;
  uint64_t shown = 0;
  while (wanted(options, shown)) {
    if (end != 0 && clock.monotonic() >= end) {
      return Error(ErrorCode::kDeadline, "no more messages on " + topic)
          .expecting(options.count == 0 ? "messages" : std::to_string(options.count) + " messages",
                     std::to_string(shown));
    }
    MODELD_TRY(transport->wait(std::span(&one, 1), Deadline::after(clock, kWait)));
    while (wanted(options, shown)) {
      MODELD_ASSIGN(const auto message, subscriber->receive());
      if (!message) break;
      const Status printed = print(*message, is_health(topic), options.json);
      // A bad message is one message: the next may be good.
      if (!printed.ok()) std::fprintf(stderr, "modelctl: %s\n", to_string(printed.error()).c_str());
      ++shown;
    }
  }
  return {};
}

Status dump(const Options& options) {
  note_interrupts();
  std::error_code failure;
  if (std::filesystem::is_regular_file(options.source, failure)) return dump_log(options);
  // A dot or a slash is in no topic's name: a file was meant.
  if (options.source.find_first_of("./") != std::string::npos) {
    const bool there = std::filesystem::exists(options.source, failure);
    return Error(there ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound, "nothing to dump")
        .expecting("a topic or a file of messages",
                   options.source + (there ? ", not a regular file" : ", no such file"));
  }
  return dump_topic(options);
}

}  // namespace

void add_dump(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "dump", "Print the messages of a topic, or of a recorded log, decoded");
  command.add_option("SOURCE", options->source, "A topic, or a file of framed messages").required();
  command.add_option("--count", options->count, "Stop after so many messages (0: never)")
      .with_default();
  command
      .add_option("--seconds", options->seconds,
                  "Give up after this time, s (0: never); exit code 5")
      .in_range(0.0, 1e6)
      .with_default();
  add_transport_options(command, options->transport);
  command.add_json_flag(options->json);
  command.set_example("modelctl dump modeldHealth --count 1 --json");
  command.set_action(chosen, [options] { return dump(*options); });
}

}  // namespace modeld::modelctl
