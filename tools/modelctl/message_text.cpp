#include "tools/modelctl/message_text.h"

#include <capnp/compat/json.h>
#include <capnp/pretty-print.h>

#include <cstdarg>
#include <cstdio>

#include "ipc/schema/health.capnp.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"

namespace modeld::modelctl {
namespace {

template <typename Root>
Result<std::string> decode_as(std::span<const std::byte> message, MessageFormat format) {
  ipc::MessageReader reader;
  std::string text;
  const Status read = ipc::read_message<Root>(reader, message, [&](typename Root::Reader root) {
    if (format == MessageFormat::kText) {
      text = capnp::prettyPrint(root).flatten().cStr();
      return;
    }
    const capnp::JsonCodec codec;
    text = codec.encode(root).cStr();
  });
  if (!read.ok()) return read.error();
  return text;
}

class Lines {
 public:
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_ += line;
    text_ += '\n';
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

float last(capnp::List<float>::Reader list) {
  return list.size() == 0 ? 0.0f : list[list.size() - 1];
}

std::string summary_of(wire::Event::Reader event) {
  const auto model = event.getModelV2();
  Lines lines;
  lines.add("frameId %u, frameIdExtra %u, frameAge %u, valid %s", model.getFrameId(),
            model.getFrameIdExtra(), model.getFrameAge(), event.getValid() ? "true" : "false");
  lines.add("execution %.1f ms, frames dropped %.2f %%",
            static_cast<double>(model.getModelExecutionTime()) * 1e3,
            static_cast<double>(model.getFrameDropPerc()));
  const auto position = model.getPosition();
  lines.add("path: %u points, %.1f s ahead at x %.2f m, y %.2f m", position.getX().size(),
            static_cast<double>(last(position.getT())), static_cast<double>(last(position.getX())),
            static_cast<double>(last(position.getY())));
  for (const auto line : model.getLaneLines()) {
    lines.add("lane line: y %.2f m here, %.2f m at %.0f m",
              static_cast<double>(line.getY().size() == 0 ? 0.0f : line.getY()[0]),
              static_cast<double>(last(line.getY())), static_cast<double>(last(line.getX())));
  }
  for (const auto lead : model.getLeadsV3()) {
    lines.add("lead in %.0f s: probability %.3f, x %.1f m, v %.1f m/s",
              static_cast<double>(lead.getProbTime()), static_cast<double>(lead.getProb()),
              static_cast<double>(lead.getX().size() == 0 ? 0.0f : lead.getX()[0]),
              static_cast<double>(lead.getV().size() == 0 ? 0.0f : lead.getV()[0]));
  }
  const auto action = model.getAction();
  lines.add("action: curvature %.5f 1/m, acceleration %.3f m/s^2, stop %s",
            static_cast<double>(action.getDesiredCurvature()),
            static_cast<double>(action.getDesiredAcceleration()),
            action.getShouldStop() ? "true" : "false");
  return lines.text();
}

}  // namespace

Result<std::string> decode_message(std::span<const std::byte> message, bool health,
                                   MessageFormat format) {
  return health ? decode_as<wire::Health>(message, format)
                : decode_as<wire::Event>(message, format);
}

Result<std::string> summarise_model(std::span<const std::byte> message) {
  ipc::MessageReader reader;
  std::string text;
  const Status read = ipc::read_event(reader, message, [&](wire::Event::Reader event) {
    if (event.isModelV2()) text = summary_of(event);
  });
  if (!read.ok()) return read.error();
  return text;
}

}  // namespace modeld::modelctl
