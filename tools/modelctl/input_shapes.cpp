#include "tools/modelctl/input_shapes.h"

#include <charconv>

#include "tools/modelctl/frame_option.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

Error malformed(const std::string& text) {
  return Error(ErrorCode::kInvalidArgument, "--input-shape").expecting("NAME=1x256", text);
}

}  // namespace

void add_input_shape_option(Subcommand& command, std::vector<std::string>& texts) {
  command
      .add_option("--input-shape", texts,
                  "For an .onnx file with open extents: NAME=1x256 (may be given again)")
      .one_each_time();
}

Result<std::map<std::string, Shape>> parse_input_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    MODELD_ASSIGN(const auto assignment, split_assignment("--input-shape", text));
    const auto& [name, extents] = assignment;
    Shape shape;
    const char* at = extents.data();
    const char* const end = at + extents.size();
    while (true) {
      int64_t extent = 0;
      const auto [next, failure] = std::from_chars(at, end, extent);
      if (failure != std::errc() || extent < 0 || (next != end && *next != 'x')) {
        return malformed(text);
      }
      shape.push_back(extent);
      if (next == end) break;
      at = next + 1;
    }
    if (!shapes.emplace(name, std::move(shape)).second) return malformed(text);
  }
  return shapes;
}

}  // namespace modeld::modelctl
