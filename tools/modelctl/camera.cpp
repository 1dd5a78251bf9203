#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "ipc/frames/vision_protocol.h"
#include "tools/feed/message_feed.h"
#include "tools/feed/picture_search.h"
#include "tools/feed/scene_feed.h"
#include "tools/images/image_file.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"
#include "tools/modelctl/transport_options.h"
#include "tools/replay/route_feed.h"
#include "warp/nv12_layout.h"

namespace modeld::modelctl {
namespace {

struct Options {
  TransportChoice transport;
  std::string route;
  std::string road;
  std::string cabin;
  std::string size = "1928x1208";
  std::string server = "camerad";
  std::string socket_dir = "/tmp";
  std::string params_dir;
  double seconds = 0;
  bool messages = false;
  bool json = false;
};

Result<SceneOptions> scene_options(const Options& options) {
  SceneOptions scene;
  unsigned width = 0;
  unsigned height = 0;
  char rest = 0;
  // Digits only: %u alone takes a sign and wraps.
  const bool plain = options.size.find_first_not_of("0123456789x") == std::string::npos;
  if (!plain || std::sscanf(options.size.c_str(), "%5ux%5u%c", &width, &height, &rest) != 2) {
    return Error(ErrorCode::kInvalidArgument, "--size").expecting("WIDTHxHEIGHT", options.size);
  }
  auto layout = Nv12Layout::openpilot(width, height);
  if (!layout.ok()) {
    Error error = std::move(layout).error();
    error.code = ErrorCode::kInvalidArgument;
    return std::move(error).in("--size");
  }
  scene.width = width;
  scene.height = height;
  scene.server = options.server;
  scene.socket_dir = options.socket_dir;
  scene.prefix = ipc::openpilot_prefix();
  scene.messages = options.messages;
  scene.names = name_set(options.transport);
  return scene;
}

Result<RgbImage> load_picture(const std::string& path) {
  auto picture = load_image(path);
  if (picture.ok()) return picture;
  Error error = std::move(picture).error();
  // No artifact is to blame for a bad picture.
  if (error.code != ErrorCode::kNotFound) error.code = ErrorCode::kInvalidArgument;
  return error;
}

Result<ScenePictures> pictures_of(const Options& options, const SceneOptions& scene) {
  MODELD_ASSIGN(ScenePictures pictures,
                load_scene_pictures(std::nullopt, scene.width, scene.height));
  if (!options.road.empty()) {
    MODELD_ASSIGN(pictures.road, load_picture(options.road));
  }
  if (!options.cabin.empty()) {
    MODELD_ASSIGN(pictures.cabin, load_picture(options.cabin));
  }
  return pictures;
}

// Asks whether --seconds are over or somebody pressed Ctrl-C.
std::function<bool()> stop_after(double seconds, const Clock& clock) {
  const Nanoseconds end =
      seconds > 0 ? clock.monotonic() + static_cast<Nanoseconds>(seconds * kSecond) : 0;
  return [end, &clock] { return interrupted() || (end != 0 && clock.monotonic() >= end); };
}

void print_route(const replay::RouteFeed& feed, const Options& options) {
  Json cameras = Json::object();
  for (const replay::Camera camera : replay::kCameras) {
    const auto size = feed.size(camera);
    if (!size) continue;
    const std::string name(names_of(camera).name);
    cameras[name] = {{"frames", feed.shown(camera)},
                     {"without_picture", feed.missing(camera)},
                     {"width", size->width},
                     {"height", size->height}};
    if (options.json) continue;
    std::printf("%s: sent %llu frames of %ux%u; %llu had no picture\n", name.c_str(),
                static_cast<unsigned long long>(feed.shown(camera)), size->width, size->height,
                static_cast<unsigned long long>(feed.missing(camera)));
  }
  if (options.json) {
    print_json({{"server", options.server}, {"route", options.route}, {"cameras", cameras}});
  }
}

Status serve_route(const Options& options) {
  const Clock& clock = Clock::real();
  if (!options.road.empty() || !options.cabin.empty()) {
    return Error(ErrorCode::kInvalidArgument, "what to show")
        .expecting("a route, or pictures", "both");
  }
  replay::RouteFeedOptions feeding;
  feeding.socket_dir = options.socket_dir;
  feeding.prefix = ipc::openpilot_prefix();
  feeding.server = options.server;
  feeding.messages = options.messages;
  feeding.names = name_set(options.transport);
  MODELD_ASSIGN(const replay::RouteFiles files, replay::find_route(options.route));
  MODELD_ASSIGN(const replay::RouteLog log, replay::RouteLog::load(files));
  MODELD_ASSIGN(const auto transport, open_transport(options.transport, clock));
  MODELD_ASSIGN(const auto feed, replay::RouteFeed::create(clock, *transport, files, log, feeding));
  if (!options.params_dir.empty()) MODELD_TRY(MessageFeed::write_car_params(options.params_dir));
  std::fprintf(stderr, "serving %s as %s in %s%s\n", options.route.c_str(), options.server.c_str(),
               options.socket_dir.c_str(), options.messages ? ", with messages" : "");
  MODELD_TRY(feed->run(stop_after(options.seconds, clock)));
  print_route(*feed, options);
  return {};
}

Status serve(const Options& options) {
  note_interrupts();  // before there is a socket to take away
  if (!options.route.empty()) return serve_route(options);
  const Clock& clock = Clock::real();
  MODELD_ASSIGN(const SceneOptions scene, scene_options(options));
  MODELD_ASSIGN(const ScenePictures pictures, pictures_of(options, scene));
  MODELD_ASSIGN(const auto transport, open_transport(options.transport, clock));
  MODELD_ASSIGN(const auto feed,
                SceneFeed::create(clock, *transport, scene, pictures.road, pictures.cabin));
  if (!options.params_dir.empty()) MODELD_TRY(MessageFeed::write_car_params(options.params_dir));
  std::fprintf(stderr, "serving %ux%u at 20 Hz as %s in %s%s\n", scene.width, scene.height,
               scene.server.c_str(), scene.socket_dir.c_str(),
               scene.messages ? ", with messages" : "");
  MODELD_TRY(feed->run(stop_after(options.seconds, clock)));
  if (options.json) {
    print_json({{"server", scene.server},
                {"width", scene.width},
                {"height", scene.height},
                {"road_pairs", feed->road_id()},
                {"cabin_frames", feed->cabin_id()}});
  } else {
    std::printf("sent %u road pairs and %u cabin frames\n", feed->road_id(), feed->cabin_id());
  }
  return {};
}

}  // namespace

void add_camera(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "camera",
                     "Serve camera frames, of a recorded route or made of pictures: narrow and"
                     " wide road, and cabin");
  command.add_option("ROUTE", options->route,
                     "A route as `modelctl replay` reads it, played once in its own time"
                     " (default: pictures)");
  command.add_option("--road", options->road, "PNG or JPEG (default: a drawn road)");
  command.add_option("--cabin", options->cabin, "PNG or JPEG (default: a drawn cabin)");
  command.add_option("--size", options->size, "Pixels of every camera").with_default();
  command.add_option("--server", options->server, "Name of the camera server").with_default();
  command.add_option("--socket-dir", options->socket_dir, "Folder of its socket").with_default();
  command.add_option("--seconds", options->seconds, "How long, s (0: until Ctrl-C)")
      .in_range(0.0, 1e6)
      .with_default();
  command.add_flag("--messages", options->messages,
                   "Also publish what the daemons listen to: calibration, car and camera states");
  command.add_option("--params-dir", options->params_dir,
                     "Also write CarParams into this folder: modeld waits for it");
  add_transport_options(command, options->transport);
  command.add_json_flag(options->json);
  command.set_example("modelctl camera --road road.jpg --messages --ipc-dir /tmp/topics");
  command.set_action(chosen, [options] { return serve(*options); });
}

}  // namespace modeld::modelctl
