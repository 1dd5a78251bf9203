#include <cstdio>
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
#include "warp/nv12_layout.h"

namespace modeld::modelctl {
namespace {

struct Options {
  TransportChoice transport;
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
  if (std::sscanf(options.size.c_str(), "%5ux%5u%c", &width, &height, &rest) != 2) {
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

Result<ScenePictures> pictures_of(const Options& options, const SceneOptions& scene) {
  MODELD_ASSIGN(ScenePictures pictures,
                load_scene_pictures(std::nullopt, scene.width, scene.height));
  if (!options.road.empty()) {
    MODELD_ASSIGN(pictures.road, load_image(options.road));
  }
  if (!options.cabin.empty()) {
    MODELD_ASSIGN(pictures.cabin, load_image(options.cabin));
  }
  return pictures;
}

Status serve(const Options& options) {
  const Clock& clock = Clock::real();
  MODELD_ASSIGN(const SceneOptions scene, scene_options(options));
  MODELD_ASSIGN(const ScenePictures pictures, pictures_of(options, scene));
  MODELD_ASSIGN(const auto transport, open_transport(options.transport, clock));
  MODELD_ASSIGN(const auto feed,
                SceneFeed::create(clock, *transport, scene, pictures.road, pictures.cabin));
  if (!options.params_dir.empty()) MODELD_TRY(MessageFeed::write_car_params(options.params_dir));
  note_interrupts();
  std::fprintf(stderr, "serving %ux%u at 20 Hz as %s in %s%s\n", scene.width, scene.height,
               scene.server.c_str(), scene.socket_dir.c_str(),
               scene.messages ? ", with messages" : "");
  const Nanoseconds end =
      options.seconds > 0 ? clock.monotonic() + static_cast<Nanoseconds>(options.seconds * kSecond)
                          : 0;
  MODELD_TRY(feed->run([&] { return interrupted() || (end != 0 && clock.monotonic() >= end); }));
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
                     "Serve camera frames made of pictures: narrow and wide road, and cabin");
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
