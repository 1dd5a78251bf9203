#include "tools/compile/pipeline.h"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/base/file.h"
#include "tools/compile/text.h"
#include "tools/compile/toml_table.h"
#include "warp/nv12_layout.h"

namespace modeld::compile {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 20;
constexpr int64_t kMaxRows = 1 << 20;

// Every item of a choice as "a | b | c".
template <size_t N>
std::string joined(const std::array<std::string_view, N>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : " | ") + std::string(name);
  return text;
}

Result<std::vector<FrameSize>> camera_sizes(TomlTable& table) {
  MODELD_ASSIGN(const auto pairs, table.pairs("sizes"));
  std::vector<FrameSize> sizes;
  for (const auto& pair : pairs) {
    const bool fits = std::all_of(pair.begin(), pair.end(), [](int64_t side) {
      return side >= 2 && side <= kMaxNv12Side && side % 2 == 0;
    });
    if (!fits) {
      return table.wrong("sizes", "even sides in 2.." + std::to_string(kMaxNv12Side),
                         std::to_string(pair[0]) + " x " + std::to_string(pair[1]));
    }
    sizes.push_back({static_cast<uint32_t>(pair[0]), static_cast<uint32_t>(pair[1])});
  }
  if (sizes.empty()) return table.wrong("sizes", "at least one camera size", "none");
  return sizes;
}

Result<WarpSpec> read_warp(TomlTable& table) {
  constexpr std::array<std::string_view, 2> kLayouts = {"yuv420_planes", "luma"};
  WarpSpec warp;
  MODELD_ASSIGN(warp.transform, table.text("transform"));
  if (warp.transform.empty()) return table.wrong("transform", "the name of an input", "nothing");
  MODELD_ASSIGN(warp.layout, table.text("layout"));
  if (std::find(kLayouts.begin(), kLayouts.end(), warp.layout) == kLayouts.end()) {
    return table.wrong("layout", joined(kLayouts), printable(warp.layout));
  }
  MODELD_ASSIGN(const int64_t width, table.integer("width", 0, 1, kMaxNv12Side));
  MODELD_ASSIGN(const int64_t height, table.integer("height", 0, 1, kMaxNv12Side));
  if (width == 0) return table.wrong("width", "pixels", "nothing");
  if (height == 0) return table.wrong("height", "pixels", "nothing");
  warp.output_size = {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
  if (table.has("border_fill")) {
    MODELD_ASSIGN(const int64_t fill, table.integer("border_fill", 0, 0, 255));
    warp.border_fill = static_cast<uint8_t>(fill);
  }
  constexpr std::array<std::string_view, 2> kFilters = {"nearest", "bilinear"};
  MODELD_ASSIGN(warp.filter, table.text("filter", "nearest"));
  if (std::find(kFilters.begin(), kFilters.end(), warp.filter) == kFilters.end()) {
    return table.wrong("filter", joined(kFilters), printable(warp.filter));
  }
  if (warp.filter == "bilinear" && warp.border_fill) {
    return table.wrong("filter", "nearest beside border_fill", warp.filter);
  }
  MODELD_ASSIGN(warp.sizes, camera_sizes(table));
  MODELD_TRY(table.finish());
  return warp;
}

Result<HistorySpec> read_history(TomlTable& table) {
  constexpr std::array<std::string_view, 2> kReductions = {"sample", "max"};
  HistorySpec history;
  MODELD_ASSIGN(history.axis, table.integer("axis", 0, 0, 7));
  MODELD_ASSIGN(history.size, table.integer("size", 1, 1, kMaxRows));
  MODELD_ASSIGN(history.stride, table.integer("stride", 1, 1, kMaxRows));
  MODELD_ASSIGN(history.delay, table.integer("delay", 0, 0, kMaxRows));
  MODELD_ASSIGN(const std::string reduce, table.text("reduce", "sample"));
  if (std::find(kReductions.begin(), kReductions.end(), reduce) == kReductions.end()) {
    return table.wrong("reduce", joined(kReductions), printable(reduce));
  }
  history.maximum = reduce == "max";
  MODELD_TRY(table.finish());
  return history;
}

// What the daemons put into a source (contract.h).
constexpr std::array<std::string_view, 3> kFrameSources = {"narrow_road", "wide_road", "cabin"};
constexpr std::array<std::string_view, 5> kVectorSources = {
    "desire_pulse", "traffic_convention", "action_t", "lateral_control_params", "calibration"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// `source` and `warp`, which an input and each item of `stack` have.
Result<SourceSpec> read_source(TomlTable& table) {
  SourceSpec spec;
  MODELD_ASSIGN(spec.source, table.text("source"));
  MODELD_ASSIGN(auto warp, table.table("warp"));
  if (warp) {
    MODELD_ASSIGN(spec.warp, read_warp(*warp));
  }
  if (spec.warp && !contains(kFrameSources, spec.source)) {
    return table.wrong("source", joined(kFrameSources), printable(spec.source));
  }
  if (!spec.warp && !spec.source.empty() && !contains(kVectorSources, spec.source)) {
    return table.wrong("source", joined(kVectorSources) + ", or a frame with a warp",
                       printable(spec.source));
  }
  return spec;
}

Result<std::vector<SourceSpec>> read_stack(TomlTable& table) {
  MODELD_ASSIGN(auto items, table.tables("stack"));
  std::vector<SourceSpec> sources;
  for (TomlTable& item : items) {
    MODELD_ASSIGN(SourceSpec source, read_source(item));
    MODELD_TRY(item.finish());
    if (!source.warp) return item.wrong("warp", "a table", "nothing");
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<InputSpec> read_input(TomlTable& table, std::string name) {
  InputSpec input;
  input.name = std::move(name);
  input.line = table.line();
  MODELD_ASSIGN(input.optional, table.flag("optional"));
  MODELD_ASSIGN(SourceSpec source, read_source(table));
  MODELD_ASSIGN(input.sources, read_stack(table));
  MODELD_ASSIGN(input.feedback, table.text("feedback"));
  MODELD_ASSIGN(input.from, table.text("from"));
  const bool stacked = !input.sources.empty();
  const int given = int{stacked} + int{!input.feedback.empty()} + int{!input.from.empty()} +
                    int{table.has("source")};
  if (given > 1) {
    return table.wrong("source", "one of source, stack, feedback and from", "several");
  }
  // Without any of them the host gives the value under the graph input's own name.
  if (given == 0 || table.has("source")) input.sources.push_back(std::move(source));
  MODELD_ASSIGN(auto history, table.table("history"));
  if (history) {
    MODELD_ASSIGN(input.history, read_history(*history));
  }
  MODELD_ASSIGN(input.scale, table.number("scale", 1));
  MODELD_ASSIGN(input.offset, table.number("offset", 0));
  MODELD_TRY(table.finish());
  return input;
}

Result<std::vector<NamedRange>> read_slices(TomlTable& output) {
  std::vector<NamedRange> slices;
  MODELD_ASSIGN(auto table, output.table("slices"));
  if (!table) return output.wrong("slices", "a table", "nothing");
  for (const std::string& name : table->keys()) {
    MODELD_ASSIGN(const auto bounds, table->integers(name, 2));
    slices.push_back({name, bounds[0], bounds[1]});
  }
  MODELD_TRY(output.finish());
  return slices;
}

Result<StageSpec> read_stage(TomlTable& table) {
  StageSpec stage;
  MODELD_ASSIGN(stage.name, table.text("name", "model"));
  MODELD_ASSIGN(stage.file, table.text("file"));
  const bool plain = stage.file.find('/') == std::string::npos && stage.file != "..";
  if (!plain) return table.wrong("file", "the name of a file beside the ONNX file", "a path");
  MODELD_ASSIGN(auto inputs, table.table("inputs"));
  if (inputs) {
    for (const std::string& name : inputs->keys()) {
      MODELD_ASSIGN(auto entry, inputs->table(name));
      MODELD_ASSIGN(InputSpec input, read_input(*entry, name));
      stage.inputs.push_back(std::move(input));
    }
  }
  MODELD_ASSIGN(auto outputs, table.table("outputs"));
  if (outputs) {
    for (const std::string& name : outputs->keys()) {
      MODELD_ASSIGN(auto entry, outputs->table(name));
      MODELD_ASSIGN(stage.slices[name], read_slices(*entry));
    }
  }
  MODELD_TRY(table.finish());
  return stage;
}

Result<std::vector<StageSpec>> read_stages(TomlTable& root) {
  MODELD_ASSIGN(auto tables, root.tables("stage"));
  if (tables.empty()) return root.wrong("stage", "at least one [[stage]]", "none");
  std::vector<StageSpec> stages;
  std::set<std::string> names;
  for (TomlTable& table : tables) {
    MODELD_ASSIGN(StageSpec stage, read_stage(table));
    if (!names.insert(stage.name).second) {
      return table.wrong("name", "a name of its own", printable(stage.name));
    }
    if (!stages.empty() && stage.file.empty()) return table.wrong("file", "a file", "nothing");
    stages.push_back(std::move(stage));
  }
  return stages;
}

Result<std::vector<DeviceClass>> read_devices(TomlTable& root) {
  MODELD_ASSIGN(const auto names, root.texts("devices"));
  std::vector<DeviceClass> classes;
  for (const std::string& name : names) {
    const auto parsed = parse_device_class(name);
    if (!parsed || std::find(classes.begin(), classes.end(), *parsed) != classes.end()) {
      return root.wrong("devices", "cpu, gpu, accelerator, each once", printable(name));
    }
    classes.push_back(*parsed);
  }
  if (classes.empty()) {
    return std::vector<DeviceClass>{DeviceClass::kCpu, DeviceClass::kGpu,
                                    DeviceClass::kAccelerator};
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

Status read_ranges(TomlTable& root, Pipeline& pipeline) {
  MODELD_ASSIGN(auto table, root.table("ranges"));
  if (!table) return {};
  for (const std::string& name : table->keys()) {
    MODELD_ASSIGN(const auto bounds, table->numbers(name, 2));
    if (bounds[0] > bounds[1]) return table->wrong(name, "[minimum, maximum]", "the reverse");
    pipeline.ranges[name] = {bounds[0], bounds[1]};
  }
  return {};
}

Result<Pipeline> read_document(const toml::table& document, const std::string& file_name) {
  TomlTable root(document, file_name, "");
  Pipeline pipeline;
  MODELD_ASSIGN(pipeline.name, root.text("name"));
  if (pipeline.name.empty()) return root.wrong("name", "a text", "nothing");
  MODELD_ASSIGN(const std::string role, root.text("role"));
  const auto parsed_role = parse_model_role(role);
  if (!parsed_role) return root.wrong("role", "driving | monitoring | other", printable(role));
  pipeline.role = *parsed_role;
  MODELD_ASSIGN(pipeline.device_classes, read_devices(root));
  MODELD_ASSIGN(pipeline.stages, read_stages(root));
  MODELD_TRY(read_ranges(root, pipeline));
  MODELD_TRY(root.finish());
  return pipeline;
}

}  // namespace

const InputSpec* StageSpec::find_input(std::string_view input) const {
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const InputSpec& spec) { return spec.name == input; });
  return found == inputs.end() ? nullptr : &*found;
}

Result<Pipeline> parse_pipeline(std::string_view text, const std::string& file_name) {
  try {
    const toml::table document = toml::parse(text);
    return read_document(document, file_name);
  } catch (const toml::parse_error& error) {
    return Error(ErrorCode::kInvalidArgument,
                 "not TOML: " + printable(std::string(error.description())))
        .in(file_name + ":" + std::to_string(error.source().begin.line));
  }
}

Result<Pipeline> read_pipeline(const std::filesystem::path& path) {
  MODELD_ASSIGN(const std::string text, read_text_file(path, kMaxFileBytes));
  return parse_pipeline(text, printable(path.filename().string()));
}

Pipeline plain_pipeline(const std::filesystem::path& onnx) {
  Pipeline pipeline;
  pipeline.name = printable(onnx.stem().string());
  pipeline.device_classes = {DeviceClass::kCpu, DeviceClass::kGpu, DeviceClass::kAccelerator};
  StageSpec stage;
  stage.name = "model";
  pipeline.stages.push_back(std::move(stage));
  return pipeline;
}

}  // namespace modeld::compile
