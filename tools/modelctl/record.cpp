#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "ipc/frames/vision_protocol.h"
#include "tools/modelctl/command.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"
#include "tools/modelctl/transport_options.h"
#include "tools/replay/route_recorder.h"

namespace modeld::modelctl {
namespace {

struct Options {
  TransportChoice transport;
  std::string version;
  std::string folder;
  std::string route;
  std::string server = "camerad";
  std::string socket_dir = "/tmp";
  std::string codec = "ffv1";
  std::string params_dir;
  double seconds = 0;
  double segment_seconds = 60;
  bool json = false;
};

std::string route_by_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d--%H-%M-%S", &parts);
  return text;
}

replay::RecordOptions record_options(const Options& options) {
  replay::RecordOptions record;
  record.folder = options.folder;
  record.route = options.route.empty() ? route_by_time() : options.route;
  record.version = options.version;
  record.server = options.server;
  record.socket_dir = options.socket_dir;
  record.prefix = ipc::openpilot_prefix();
  record.names = name_set(options.transport);
  record.hevc = options.codec == "hevc";
  record.segment = static_cast<Nanoseconds>(options.segment_seconds * kSecond);
  record.params_dir = options.params_dir;
  return record;
}

void print(const replay::RecordReport& report, const std::string& route, bool json) {
  if (!json) {
    std::printf("%s: %llu segments, %llu messages\n", route.c_str(),
                static_cast<unsigned long long>(report.segments),
                static_cast<unsigned long long>(report.messages));
  }
  Json cameras = Json::object();
  for (const replay::Camera camera : replay::kCameras) {
    const auto& one = report.cameras[index_of(camera)];
    const std::string name(names_of(camera).name);
    cameras[name] = {{"recorded", one.recorded},
                     {"torn", one.torn},
                     {"encoder_behind", one.behind},
                     {"other_size", one.resized}};
    if (json) continue;
    std::printf("  %-12s %llu frames; lost: %llu torn, %llu encoder behind, %llu other size\n",
                name.c_str(), static_cast<unsigned long long>(one.recorded),
                static_cast<unsigned long long>(one.torn),
                static_cast<unsigned long long>(one.behind),
                static_cast<unsigned long long>(one.resized));
  }
  if (json) {
    print_json({{"route", route},
                {"segments", report.segments},
                {"messages", report.messages},
                {"cameras", cameras}});
  }
}

Status record(const Options& options) {
  const Clock& clock = Clock::real();
  if (options.route.find('/') != std::string::npos) {
    return Error(ErrorCode::kInvalidArgument, "--route")
        .expecting("a name without '/'", options.route);
  }
  MODELD_ASSIGN(const auto transport, open_transport(options.transport, clock));
  const replay::RecordOptions record = record_options(options);
  note_interrupts();  // before there is a file to finish
  MODELD_ASSIGN(const auto recorder, replay::RouteRecorder::create(clock, *transport, record));
  const std::string route = (record.folder / record.route).string();
  std::fprintf(stderr, "recording %s--0 ... (Ctrl-C ends it)\n", route.c_str());
  const Nanoseconds end =
      options.seconds > 0 ? clock.monotonic() + static_cast<Nanoseconds>(options.seconds * kSecond)
                          : 0;
  MODELD_TRY(
      recorder->run([&] { return interrupted() || (end != 0 && clock.monotonic() >= end); }));
  print(recorder->report(), route, options.json);
  return {};
}

}  // namespace

void add_record(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "record",
                     "Record live messages and camera frames, without loss, as a route to replay");
  options->version = command.program_version();
  command.add_option("FOLDER", options->folder, "Gets a folder ROUTE--N for every segment")
      .required();
  command.add_option("--route", options->route, "Name of the route (default: date and time)");
  command.add_option("--server", options->server, "Name of the camera server").with_default();
  command.add_option("--socket-dir", options->socket_dir, "Folder of its socket").with_default();
  command
      .add_option("--codec", options->codec,
                  "ffv1: .mkv, fast; hevc: .hevc as openpilot names them. Both keep every bit")
      .one_of({"ffv1", "hevc"})
      .with_default();
  command.add_option("--params-dir", options->params_dir,
                     "Parameter store: its CarParams goes into the log");
  command.add_option("--seconds", options->seconds, "How long, s (0: until Ctrl-C)")
      .in_range(0.0, 1e6)
      .with_default();
  command.add_option("--segment-seconds", options->segment_seconds, "Length of a segment, s")
      .in_range(1.0, 3600.0)
      .with_default();
  add_transport_options(command, options->transport);
  command.add_json_flag(options->json);
  command.set_example("modelctl record routes --seconds 30 --ipc-dir /tmp/topics");
  command.set_action(chosen, [options] { return record(*options); });
}

}  // namespace modeld::modelctl
