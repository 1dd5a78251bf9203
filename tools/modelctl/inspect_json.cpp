#include "tools/modelctl/inspect_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/program/cost.h"
#include "runtime/program/memory_plan.h"

namespace modeld::modelctl {
namespace {

constexpr uint64_t kArenaAlignment = 64;  // of the arena size shown; backends choose their own

template <typename List, typename Convert>
Json array_of(const List& list, Convert convert) {
  Json array = Json::array();
  for (const auto& item : list) array.push_back(convert(item));
  return array;
}

std::string size_text(FrameSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

// JSON knows no infinity: an open end is null.
Json bound(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json tolerance_json(const Tolerance& tolerance) {
  return {{"device_class", to_string(tolerance.device_class)},
          {"absolute", tolerance.absolute},
          {"relative", tolerance.relative}};
}

Json slice_json(const OutputSlice& slice) {
  return {{"name", slice.name},
          {"start", slice.start},
          {"stop", slice.stop},
          {"minimum", bound(slice.minimum)},
          {"maximum", bound(slice.maximum)},
          {"varies", slice.varies},
          {"tolerances", array_of(slice.tolerances, tolerance_json)}};
}

Json input_json(const InputContract& input) {
  return {{"name", input.name},
          {"type", to_string(input.type)},
          {"role", to_string(input.role)},
          {"source", input.source}};
}

Json output_json(const OutputContract& output) {
  return {{"name", output.name},
          {"type", to_string(output.type)},
          {"slices", array_of(output.slices, slice_json)}};
}

Json camera_json(const CameraContract& camera) {
  return {{"frame_input", camera.frame_input},
          {"transform_input", camera.transform_input},
          {"sizes", array_of(camera.sizes, size_text)},
          {"layout", camera.layout},
          {"output_size", size_text(camera.output_size)},
          {"border", camera.border_fill ? "fill " + std::to_string(*camera.border_fill) : "clamp"},
          {"pixel_range", camera.pixel_range},
          {"colour_matrix", camera.colour_matrix}};
}

Json acceptance_json(const Acceptance& acceptance) {
  return {{"backend", acceptance.backend},
          {"device_class", to_string(acceptance.device_class)},
          {"device", acceptance.device},
          {"worst_ms", acceptance.worst_ms},
          {"unix_seconds", acceptance.unix_seconds}};
}

Json reference_json(const ReferenceVector& reference) {
  return {{"seed", reference.seed}, {"steps", reference.steps}};
}

Json opsets_json(const Contract& contract) {
  Json opsets = Json::object();
  for (const auto& [domain, version] : contract.opsets) {
    opsets[domain.empty() ? "ai.onnx" : domain] = version;
  }
  return opsets;
}

Json states_json(const Model& model) {
  Json states = Json::array();
  for (size_t i = 0; i < model.program.states.size(); ++i) {
    const StateBinding& state = model.program.states[i];
    const Tensor& current = model.program.tensors[state.current];
    states.push_back({{"name", current.name},
                      {"type", to_string(current.type)},
                      {"next", model.program.tensors[state.next].name},
                      {"reset", model.contract.states[i].reset},
                      {"initial", state.initial ? "stored" : "zero"}});
  }
  return states;
}

Json attributes_json(const Attributes& attributes) {
  Json object = Json::object();
  for (const auto& [name, value] : attributes.map()) object[name] = attribute_json(value);
  return object;
}

Json place_json(const Program& program, const ArenaPlace& place) {
  return {{"tensor", program.tensors[place.tensor].name},
          {"offset", place.offset},
          {"bytes", place.bytes},
          {"first_op", place.first},
          {"last_op", place.last}};
}

Json op_json(const Program& program, const Op& op) {
  const OpCost cost = op_cost(program, op);
  const auto describe = [&](TensorId id) {
    if (id == kNoTensor) return std::string();
    return program.tensors[id].name + " " + to_string(program.tensors[id].type);
  };
  return {{"kind", to_string(op.kind)},
          {"name", op.name},
          {"phase", to_string(op.phase)},
          {"inputs", array_of(op.inputs, describe)},
          {"outputs", array_of(op.outputs, describe)},
          {"attributes", attributes_json(op.attributes)},
          {"macs", cost.macs},
          {"bytes_read", cost.bytes_read},
          {"bytes_written", cost.bytes_written}};
}

Json program_json(const Program& program) {
  const ProgramCost cost = program_cost(program);
  const MemoryPlan plan = plan_memory(intermediate_lifetimes(program), kArenaAlignment);
  return {{"ops", program.ops.size()},
          {"tensors", program.tensors.size()},
          {"gmacs", static_cast<double>(cost.macs) / 1e9},
          {"weights_bytes", cost.constant_bytes},
          {"intermediate_bytes", cost.intermediate_bytes},
          {"arena_bytes", plan.arena_bytes}};
}

}  // namespace

Json attribute_json(const AttributeValue& value) {
  // JSON knows no infinity.
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(std::to_string(v)); };
  if (const auto* v = std::get_if<double>(&value)) return number(*v);
  if (const auto* v = std::get_if<std::vector<double>>(&value)) return array_of(*v, number);
  if (const auto* v = std::get_if<int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  return std::get<std::vector<int64_t>>(value);
}

std::vector<ArenaPlace> arena_map(const Program& program) {
  const std::vector<Lifetime> lifetimes = intermediate_lifetimes(program);
  const MemoryPlan plan = plan_memory(lifetimes, kArenaAlignment);
  std::vector<ArenaPlace> places;
  for (TensorId id = 0; id < lifetimes.size(); ++id) {
    const Lifetime& life = lifetimes[id];
    if (life.bytes > 0) places.push_back({id, plan.offsets[id], life.bytes, life.first, life.last});
  }
  std::sort(places.begin(), places.end(), [](const ArenaPlace& a, const ArenaPlace& b) {
    return std::pair(a.offset, a.first) < std::pair(b.offset, b.first);
  });
  return places;
}

Json inspect_json(const LoadedModel& loaded) {
  const Contract& contract = loaded.model.contract;
  const Program& program = loaded.model.program;
  const auto class_name = [](DeviceClass device_class) { return to_string(device_class); };
  return {{"name", contract.name},
          {"role", to_string(contract.role)},
          {"digest", loaded.artifact},
          {"signature", to_string(loaded.signature)},
          {"format_version", kFormatVersion},
          {"runtime_abi", kRuntimeAbiVersion},
          {"precision", to_string(contract.precision)},
          {"device_classes", array_of(contract.device_classes, class_name)},
          {"source_sha256", contract.source_sha256},
          {"opsets", opsets_json(contract)},
          {"compiler_version", contract.compiler_version},
          {"checkpoint", contract.checkpoint},
          {"program", program_json(program)},
          {"inputs", array_of(contract.inputs, input_json)},
          {"outputs", array_of(contract.outputs, output_json)},
          {"states", states_json(loaded.model)},
          {"cameras", array_of(contract.cameras, camera_json)},
          {"references", array_of(contract.references, reference_json)},
          {"acceptances", array_of(contract.acceptances, acceptance_json)},
          {"op_list", array_of(program.ops, [&](const Op& op) { return op_json(program, op); })},
          {"arena", array_of(arena_map(program),
                             [&](const ArenaPlace& place) { return place_json(program, place); })}};
}

}  // namespace modeld::modelctl
