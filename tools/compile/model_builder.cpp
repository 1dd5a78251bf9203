#include "tools/compile/model_builder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_set>

#include "tools/compile/history.h"
#include "tools/compile/host_inputs.h"
#include "tools/compile/importer.h"
#include "tools/compile/output_contracts.h"
#include "tools/compile/stage.h"
#include "tools/compile/stage_inputs.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

// Of "name[start:stop]"; nothing for a name without such an end.
std::optional<NamedRange> trailing_range(std::string_view text) {
  const size_t open = text.rfind('[');
  if (!text.ends_with(']') || open == std::string_view::npos || open == 0) return std::nullopt;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const size_t colon = inside.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  NamedRange range{std::string(text.substr(0, open)), 0, 0};
  const auto read = [](std::string_view digits, int64_t& value) {
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return result.ec == std::errc() && result.ptr == digits.data() + digits.size() && value >= 0;
  };
  const bool numbers =
      read(inside.substr(0, colon), range.start) && read(inside.substr(colon + 1), range.stop);
  return numbers ? std::optional(std::move(range)) : std::nullopt;
}

class Builder {
 public:
  Builder(const std::filesystem::path& onnx, const Pipeline& pipeline, const BuildOptions& options)
      : onnx_(onnx), pipeline_(pipeline), options_(options), hosts_(model_.draft) {
    model_.draft.fold.all = options.fold_all;
  }

  Result<BuiltModel> run();

 private:
  Status add_stage(Stage& stage);

  Result<TensorId> input_value(const Stage& stage, const OnnxInput& input);
  Result<TensorId> state_value(const OnnxInput& input);
  Result<TensorId> piped_value(const InputSpec& spec, const TensorType& type);
  Result<TensorId> row_of(const InputSpec& spec, const TensorType& type, Phase& phase);
  Result<TensorId> stacked(const InputSpec& spec, const Shape& shape);
  Result<TensorId> scaled(TensorId id, const InputSpec& spec);
  Result<TensorId> feedback(const InputSpec& spec, int64_t elements);

  Result<TensorId> part(TensorId whole, const NamedRange& range);
  // The value of an output or slice, "stage.name" or (for feedback) a name found in one stage, or
  // the part "[start:stop]" of one.
  Result<TensorId> named_value(const std::string& name);
  Result<TensorId> whole_value(const std::string& name);
  Result<TensorId> fit(TensorId id, const Shape& shape, const std::string& name, Phase phase);

  Status connect_states();
  Status connect_feedback();
  Status add_outputs();
  TensorId own(TensorId id, const std::string& name);
  void order_by_phase();
  void describe_sources();

  const std::filesystem::path& onnx_;
  const Pipeline& pipeline_;
  const BuildOptions& options_;
  BuiltModel model_;
  HostInputs hosts_;
  std::vector<Stage> stages_;
  std::string weights_sha256_;                    // empty if the networks' own weights are used
  std::map<std::string, TensorId> feedback_;      // slice -> the state that holds it
  std::map<std::string, TensorId> state_inputs_;  // of the stage being added
  std::unordered_set<TensorId> claimed_;          // outputs and next values
};

Result<TensorId> Builder::fit(TensorId id, const Shape& shape, const std::string& name,
                              Phase phase) {
  const int64_t have = model_.draft.type(id).elements();
  if (checked_elements(shape) != have) {
    return invalid("the value for input '" + printable(name) + "' has another size")
        .expecting(to_string(shape), to_string(model_.draft.type(id)));
  }
  return model_.draft.reshaped(id, shape, name, phase);
}

// Several warps become one input, one after the other along the first axis.
Result<TensorId> Builder::stacked(const InputSpec& spec, const Shape& shape) {
  const auto count = static_cast<int64_t>(spec.sources.size());
  if (shape.empty() || shape[0] != count) {
    return invalid("the stack for input '" + printable(spec.name) + "' has another height")
        .expecting(to_string(shape), std::to_string(count) + " sources");
  }
  Shape one = shape;
  one[0] = 1;
  std::vector<TensorId> parts;
  for (const SourceSpec& source : spec.sources) {
    MODELD_ASSIGN(const TensorId warped, hosts_.warped(source.source, *source.warp));
    MODELD_ASSIGN(const TensorId layer, fit(warped, one, spec.name, Phase::kWarp));
    parts.push_back(layer);
  }
  Attributes attributes;
  attributes.set("axis", int64_t{0});
  return model_.draft.add(OpKind::kConcat, spec.name, std::move(parts), std::move(attributes),
                          Phase::kWarp);
}

Result<TensorId> Builder::feedback(const InputSpec& spec, int64_t elements) {
  if (const auto known = feedback_.find(spec.feedback); known != feedback_.end()) {
    return known->second;
  }
  const TensorId current =
      model_.draft.add_tensor({DType::kFloat32, {elements}}, "previous_" + spec.feedback);
  feedback_[spec.feedback] = current;
  return current;
}

// The value of this frame, before history: what `spec` names, in the shape of one row.
Result<TensorId> Builder::row_of(const InputSpec& spec, const TensorType& type, Phase& phase) {
  Shape shape = type.shape;
  if (spec.history) {
    MODELD_ASSIGN(shape, row_shape(type.shape, *spec.history));
  }
  if (spec.sources.size() > 1) return stacked(spec, shape);
  TensorId value = kNoTensor;
  if (!spec.feedback.empty()) {
    MODELD_ASSIGN(value, feedback(spec, checked_elements(shape).value_or(0)));
  } else if (!spec.from.empty()) {
    phase = Phase::kModel;
    MODELD_ASSIGN(value, named_value(spec.from));
  } else if (spec.sources[0].warp) {
    MODELD_ASSIGN(value, hosts_.warped(spec.sources[0].source, *spec.sources[0].warp));
  } else if (!spec.sources[0].source.empty()) {
    MODELD_ASSIGN(value, hosts_.vector(spec.sources[0].source));
  } else {
    const DType dtype = is_float(type.dtype) ? DType::kFloat32 : type.dtype;
    return hosts_.unsourced(spec.name, {dtype, shape});
  }
  return fit(value, shape, spec.name, phase);
}

Result<TensorId> Builder::scaled(TensorId id, const InputSpec& spec) {
  Draft& draft = model_.draft;
  if (spec.scale == 1 && spec.offset == 0) return id;
  MODELD_ASSIGN(id, draft.cast_to(id, DType::kFloat32, spec.name));
  const auto scalar = [&](double value) {
    return draft.add_constant(from_doubles({DType::kFloat32, {}}, std::vector<double>{value}),
                              spec.name + ".scale");
  };
  if (spec.scale != 1) {
    MODELD_ASSIGN(const TensorId scale, scalar(spec.scale));
    MODELD_ASSIGN(id, draft.add(OpKind::kMul, spec.name, {id, scale}));
  }
  if (spec.offset != 0) {
    MODELD_ASSIGN(const TensorId offset, scalar(spec.offset));
    MODELD_ASSIGN(id, draft.add(OpKind::kAdd, spec.name, {id, offset}));
  }
  return id;
}

Result<TensorId> Builder::piped_value(const InputSpec& spec, const TensorType& type) {
  Phase phase = Phase::kHistory;
  MODELD_ASSIGN(TensorId id, row_of(spec, type, phase));
  if (spec.history) {
    MODELD_ASSIGN(id, add_history(model_.draft, id, type.shape, *spec.history, spec.name, phase));
  }
  MODELD_ASSIGN(id, scaled(id, spec));
  return model_.draft.cast_to(id, type.dtype, spec.name);
}

Result<TensorId> Builder::state_value(const OnnxInput& input) {
  MODELD_ASSIGN(TensorType type, static_type(input));
  const TensorId current = model_.draft.add_tensor(std::move(type), input.name);
  state_inputs_[input.name] = current;
  return current;
}

Result<TensorId> Builder::input_value(const Stage& stage, const OnnxInput& input) {
  const InputSpec* spec = stage.spec->find_input(input.name);
  if (options_.frozen != nullptr) {
    if (const auto frozen = options_.frozen->find(input.name); frozen != options_.frozen->end()) {
      MODELD_ASSIGN(HostTensor value, frozen_value(input, frozen->second));
      return model_.draft.add_constant(std::move(value), input.name);
    }
  }
  if (stage.next_of.contains(input.name)) {
    if (spec != nullptr) {
      return invalid("input '" + printable(input.name) + "' is a state fed by '" +
                     printable(stage.next_of.at(input.name)) + "' and in the pipeline too");
    }
    return state_value(input);
  }
  MODELD_ASSIGN(const TensorType type, static_type(input));
  if (!options_.has_pipeline) return hosts_.unsourced(input.name, type);
  if (spec == nullptr) {
    return invalid("graph input '" + printable(input.name) + "' has no entry in the pipeline");
  }
  auto value = piped_value(*spec, type);
  if (!value.ok()) {
    return std::move(value).error().in("pipeline line " + std::to_string(spec->line) + ", input '" +
                                       printable(spec->name) + "'");
  }
  return value;
}

Status Builder::add_stage(Stage& stage) {
  state_inputs_.clear();
  model_.draft.fold.allow_for(constant_bytes(stage.graph));
  ValueMap inputs;
  for (const OnnxInput& input : stage.graph.inputs) {
    MODELD_ASSIGN(inputs[input.name], input_value(stage, input));
  }
  MODELD_ASSIGN(stage.outputs, import_graph(model_.draft, stage.graph, inputs));
  for (const auto& [input, output] : stage.next_of) {
    if (const auto state = state_inputs_.find(input); state != state_inputs_.end()) {
      model_.draft.states.push_back({state->second, stage.outputs.at(output)});
    }
  }
  return name_slices(stage, model_.draft);
}

Result<TensorId> Builder::part(TensorId whole, const NamedRange& range) {
  Draft& draft = model_.draft;
  MODELD_ASSIGN(const TensorId flat,
                draft.reshaped(whole, {draft.type(whole).elements()}, range.name));
  if (range.start == 0 && range.stop == draft.type(whole).elements()) return flat;
  Attributes attributes;
  attributes.set("starts", std::vector<int64_t>{range.start});
  attributes.set("steps", std::vector<int64_t>{1});
  attributes.set("sizes", std::vector<int64_t>{range.stop - range.start});
  return draft.add(OpKind::kSlice, range.name, {flat}, std::move(attributes));
}

Result<TensorId> Builder::named_value(const std::string& name) {
  const std::optional<NamedRange> range = trailing_range(name);
  if (!range) return whole_value(name);
  MODELD_ASSIGN(const TensorId whole, whole_value(range->name));
  const int64_t have = model_.draft.type(whole).elements();
  if (range->start >= range->stop || range->stop > have) {
    return invalid("'" + printable(name) + "' is no part of it")
        .expecting("[start:stop] with 0 <= start < stop <= " + std::to_string(have),
                   std::to_string(range->start) + ":" + std::to_string(range->stop));
  }
  return part(whole, *range);
}

Result<TensorId> Builder::whole_value(const std::string& name) {
  for (const Stage& stage : stages_) {
    const std::string prefix = stage.spec->name + ".";
    const std::string local = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (const auto output = stage.outputs.find(local); output != stage.outputs.end()) {
      return output->second;
    }
    for (const auto& [output, slices] : stage.slices) {
      for (const NamedRange& range : slices) {
        if (range.name == local) return part(stage.outputs.at(output), range);
      }
    }
  }
  return invalid("no output or slice '" + printable(name) + "'");
}

// An op's result under `name` that nobody else has claimed: `id` itself, or a copy of it.
TensorId Builder::own(TensorId id, const std::string& name) {
  const auto& ops = model_.draft.ops;
  const bool written = std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
    return std::find(op.outputs.begin(), op.outputs.end(), id) != op.outputs.end();
  });
  if (!written || claimed_.contains(id)) id = model_.draft.add_copy(id, name);
  model_.draft.tensors[id].name = name;
  claimed_.insert(id);
  return id;
}

Status Builder::connect_states() {
  Draft& draft = model_.draft;
  for (DraftState& state : draft.states) {
    const std::string name = draft.tensors[state.current].name;
    if (draft.type(state.current) != draft.type(state.next)) {
      return Error(ErrorCode::kRefused, "state '" + printable(name) + "' and its next value differ")
          .expecting(to_string(draft.type(state.current)), to_string(draft.type(state.next)));
    }
    state.next = own(state.next, "next_" + name);
  }
  return {};
}

Status Builder::connect_feedback() {
  Draft& draft = model_.draft;
  for (const auto& [name, current] : feedback_) {
    MODELD_ASSIGN(TensorId value, named_value(name));
    if (!is_float(draft.dtype(value))) return invalid("'" + printable(name) + "' is not a float");
    MODELD_ASSIGN(value, draft.cast_to(value, DType::kFloat32, name));
    MODELD_ASSIGN(value, fit(value, draft.shape(current), name, Phase::kModel));
    draft.states.push_back({current, value});
  }
  return {};
}

Status Builder::add_outputs() {
  Draft& draft = model_.draft;
  for (Stage& stage : stages_) {
    for (const std::string& output : stage.graph.outputs) {
      const auto slices = stage.slices.find(output);
      if (slices == stage.slices.end()) continue;
      TensorId id = stage.outputs.at(output);
      const std::string name = stages_.size() == 1 ? output : stage.spec->name + "." + output;
      if (options_.has_pipeline && is_float(draft.dtype(id))) {
        MODELD_ASSIGN(id, draft.cast_to(id, DType::kFloat32, name));
      }
      draft.outputs.push_back(own(id, name));
      model_.slices.push_back(std::move(slices->second));
    }
  }
  if (draft.outputs.empty()) return invalid("every output is a state; nothing is left to read");
  return {};
}

// Warps read program inputs only, histories those and states: in front of the networks they keep
// their order, and each phase is one stretch of time.
void Builder::order_by_phase() {
  std::stable_sort(model_.draft.ops.begin(), model_.draft.ops.end(),
                   [](const Op& a, const Op& b) { return a.phase < b.phase; });
}

void Builder::describe_sources() {
  std::set<std::pair<std::string, int64_t>> opsets;
  for (const Stage& stage : stages_) {
    model_.source_sha256 += (model_.source_sha256.empty() ? "" : ",") + stage.graph.source_sha256;
    const std::string* checkpoint = stage.graph.find_metadata("model_checkpoint");
    if (checkpoint != nullptr && model_.checkpoint.empty()) {
      model_.checkpoint = printable(*checkpoint);
    }
    opsets.insert(stage.graph.opsets.begin(), stage.graph.opsets.end());
  }
  if (!weights_sha256_.empty()) model_.source_sha256 += "," + weights_sha256_;
  model_.opsets.assign(opsets.begin(), opsets.end());
  model_.inputs = hosts_.contracts();
  model_.cameras = hosts_.cameras();
}

Result<BuiltModel> Builder::run() {
  MODELD_ASSIGN(auto networks, read_networks(onnx_, pipeline_, options_));
  stages_ = std::move(networks.stages);
  weights_sha256_ = std::move(networks.weights_sha256);
  for (Stage& stage : stages_) MODELD_TRY(add_stage(stage));
  MODELD_TRY(connect_feedback());
  MODELD_TRY(connect_states());
  MODELD_TRY(add_outputs());
  order_by_phase();
  describe_sources();
  return std::move(model_);
}

}  // namespace

Result<BuiltModel> build_model(const std::filesystem::path& onnx, const Pipeline& pipeline,
                               const BuildOptions& options) {
  return Builder(onnx, pipeline, options).run();
}

}  // namespace modeld::compile
