#include "runtime/cpu/lowering.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "runtime/cpu/convert.h"
#include "runtime/cpu/in_place.h"
#include "runtime/cpu/onednn_call.h"
#include "runtime/program/expand.h"
#include "runtime/program/memory_plan.h"

namespace modeld::cpu {
namespace {

CopyPlan layout_copy(const Value& from, const Value& to) {
  const std::vector<int64_t> from_strides = strides_of(from.shape, from.layout);
  const std::vector<int64_t> to_strides = strides_of(to.shape, to.layout);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < from.shape.size(); ++i) {
    axes.push_back({from.shape[i], from_strides[i], to_strides[i]});
  }
  return CopyPlan(size_of(from.dtype), std::move(axes));
}

Error out_of_memory(uint64_t bytes, const std::string& what) {
  return Error(ErrorCode::kExhausted, "not enough memory for " + what)
      .expecting(std::to_string(bytes) + " bytes", "allocation refused");
}

}  // namespace

Lowering::Lowering(const Program& program, const std::vector<std::optional<FrameBinding>>& frames,
                   unsigned members)
    : program_(program), frames_(frames) {
  plan_.members = members;
  tensors_.resize(program.tensors.size());
  raw_constants_.resize(program.tensors.size());
}

const Nv12Layout& Lowering::frame_layout(TensorId tensor) const {
  const auto found = std::find(program_.inputs.begin(), program_.inputs.end(), tensor);
  return frames_[static_cast<size_t>(found - program_.inputs.begin())]->layout;
}

Status Lowering::load_constants(WeightSource& weights) {
  std::vector<bool> used(program_.tensors.size(), false);
  for (const Op& op : program_.ops) {
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor) used[id] = true;
    }
  }
  for (const TensorId id : program_.outputs) used[id] = true;
  std::vector<TensorId> constants;
  for (TensorId id = 0; id < program_.tensors.size(); ++id) {
    if (used[id] && is_constant(id)) constants.push_back(id);
  }
  std::stable_sort(constants.begin(), constants.end(), [&](TensorId a, TensorId b) {
    return program_.tensors[a].weight->offset < program_.tensors[b].weight->offset;
  });
  for (const TensorId id : constants) MODELD_TRY(read_constant(id, weights));
  return {};
}

Status Lowering::read_constant(TensorId tensor, WeightSource& weights) {
  const TensorType& stored_type = type(tensor);
  AlignedBytes bytes(stored_type.bytes());
  if (!bytes.ok()) {
    return out_of_memory(stored_type.bytes(), program_.tensors[tensor].name);
  }
  MODELD_TRY(weights.read(program_.tensors[tensor].weight->offset, bytes.span()));
  if (stored(tensor) != stored_type.dtype) {
    const auto count = static_cast<size_t>(stored_type.elements());
    AlignedBytes wide(count * sizeof(float));
    if (!wide.ok()) {
      return out_of_memory(count * sizeof(float), program_.tensors[tensor].name);
    }
    widen(stored_type.dtype, reinterpret_cast<const uint16_t*>(bytes.data()),
          reinterpret_cast<float*>(wide.data()), count);
    bytes = std::move(wide);
  }
  raw_constants_[tensor] = std::move(bytes);
  return {};
}

std::span<const std::byte> Lowering::constant_bytes(TensorId tensor) const {
  return raw_constants_[tensor].span();
}

std::span<const float> Lowering::constant_floats(TensorId tensor) const {
  const auto bytes = constant_bytes(tensor);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

Layout Lowering::layout(TensorId tensor) const {
  return tensors_[tensor].first.value_or(Layout::kPlain);
}

ValueId Lowering::add_value(Value value) {
  const auto id = static_cast<ValueId>(plan_.values.size());
  if (value.root == kNoValue) value.root = id;
  plan_.values.push_back(std::move(value));
  plan_.constants.emplace_back();
  return id;
}

ValueId Lowering::define(TensorId tensor, Layout layout) {
  Value value;
  value.dtype = stored(tensor);
  value.layout = layout;
  value.shape = shape(tensor);
  value.bytes = static_cast<uint64_t>(type(tensor).elements()) * size_of(value.dtype);
  const ValueId id = add_value(std::move(value));
  tensors_[tensor].first = layout;
  tensors_[tensor].values[static_cast<size_t>(layout)] = id;
  return id;
}

ValueId Lowering::define_view(TensorId tensor, Layout layout, ValueId of, uint64_t offset) {
  const ValueId id = define(tensor, layout);
  const Value whole = info(of);
  Value& view = plan_.values[id];
  view.root = whole.root;
  view.offset = whole.offset + offset;
  view.home = info(whole.root).home;
  view.index = info(whole.root).index;
  return id;
}

ValueId Lowering::temporary(uint64_t bytes) {
  Value value;
  value.dtype = DType::kUInt8;
  value.shape = {static_cast<int64_t>(bytes)};
  value.bytes = bytes;
  return add_value(std::move(value));
}

ValueId Lowering::constant(AlignedBytes bytes) {
  const ValueId id = temporary(bytes.size());
  plan_.values[id].home = Home::kConstant;
  plan_.constants[id] = std::move(bytes);
  return id;
}

ValueId Lowering::constant_value(TensorId tensor, Layout layout) {
  const ValueId id = define(tensor, layout);
  Value& value = plan_.values[id];
  value.home = Home::kConstant;
  Value plain = value;
  plain.layout = Layout::kPlain;
  AlignedBytes bytes(value.bytes);
  if (!bytes.ok()) {
    short_of_memory_ = true;
    return id;
  }
  layout_copy(plain, value).run(raw_constants_[tensor].data(), bytes.data());
  plan_.constants[id] = std::move(bytes);
  return id;
}

ValueId Lowering::value(TensorId tensor, Layout layout) {
  const auto wanted = static_cast<size_t>(layout);
  if (tensors_[tensor].values[wanted] != kNoValue) return tensors_[tensor].values[wanted];
  const std::optional<Layout> first = tensors_[tensor].first;
  if (is_constant(tensor)) {
    const ValueId id = constant_value(tensor, layout);
    if (first) tensors_[tensor].first = first;
    return id;
  }
  assert(first.has_value());
  const ValueId have = tensors_[tensor].values[static_cast<size_t>(*first)];
  ValueId id = kNoValue;
  if (layouts_agree(shape(tensor), *first, layout)) {
    id = define_view(tensor, layout, have);
  } else {
    id = define(tensor, layout);
    add_copy(layout_copy(info(have), info(id)), "own: layout", have, id);
  }
  tensors_[tensor].first = first;
  return id;
}

void Lowering::add(std::unique_ptr<Step> step, std::string how, std::vector<ValueId> reads,
                   std::vector<ValueId> writes, StepOptions options) {
  StepRecord record;
  record.step = std::move(step);
  record.op = op_name_;
  record.how = std::move(how);
  record.phase = phase_;
  record.parallel = options.parallel && plan_.members > 1;
  record.reads = std::move(reads);
  record.writes = std::move(writes);
  record.in_place = std::move(options.in_place);
  plan_.steps.push_back(std::move(record));
}

void Lowering::add_copy(CopyPlan plan, std::string how, ValueId from, ValueId to) {
  // Below this a barrier costs more than half of the copy saves.
  constexpr uint64_t kWorthSharing = 64 * 1024;
  StepOptions options;
  options.parallel = plan.bytes() >= kWorthSharing;
  add(step_of([plan = std::move(plan), from, to](const RunContext& context) {
        plan.run(context.at<std::byte>(from), context.at<std::byte>(to), context.part,
                 context.parts);
      }),
      std::move(how), {from}, {to}, std::move(options));
}

ValueId Lowering::add_external(TensorId tensor, Home home, uint32_t index) {
  Value value;
  value.dtype = type(tensor).dtype;
  value.shape = shape(tensor);
  value.bytes = value.dtype == DType::kNv12 ? 0 : type(tensor).bytes();
  value.home = home;
  value.index = index;
  return add_value(std::move(value));
}

// Inputs and current states: the host's bytes, widened to float32 where they are halves.
void Lowering::define_sources() {
  const auto define_source = [&](TensorId tensor, Home home, uint32_t index, Phase phase) {
    const ValueId external = add_external(tensor, home, index);
    if (stored(tensor) == type(tensor).dtype) {
      tensors_[tensor].first = Layout::kPlain;
      tensors_[tensor].values[0] = external;
      return;
    }
    phase_ = phase;
    op_name_ = program_.tensors[tensor].name;
    const ValueId wide = define(tensor, Layout::kPlain);
    const DType half = type(tensor).dtype;
    const auto count = static_cast<size_t>(type(tensor).elements());
    add(step_of([=](const RunContext& context) {
          widen(half, context.at<uint16_t>(external), context.at<float>(wide), count);
        }),
        "own: to float32", {external}, {wide});
  };
  for (uint32_t i = 0; i < program_.inputs.size(); ++i) {
    define_source(program_.inputs[i], Home::kInput, i, Phase::kUpload);
  }
  for (uint32_t i = 0; i < program_.states.size(); ++i) {
    define_source(program_.states[i].current, Home::kStateCurrent, i, Phase::kHistory);
  }
}

Status Lowering::lower_op() {
  constexpr std::array kFamilies = {
      lower_warp,          lower_move,      lower_convolution, lower_attention,   lower_product,
      lower_integer,       lower_recurrent, lower_quantised,   lower_region,      lower_pointwise,
      lower_normalisation, lower_reduction, lower_window,      lower_by_reference};
  for (const auto family : kFamilies) {
    MODELD_ASSIGN(const bool done, family(*this));
    if (done) return {};
  }
  return Error(ErrorCode::kUnsupported, "no implementation on the cpu backend");
}

Status Lowering::lower_all() {
  define_sources();
  for (const Op& op : program_.ops) {
    op_ = &op;
    phase_ = op.phase;
    op_name_ = op.name.empty() ? std::string(to_string(op.kind)) : op.name;
    if (auto status = lower_op(); !status.ok()) {
      return std::move(status).error().in("op " + op_name_ + " (" +
                                          std::string(to_string(op.kind)) + ")");
    }
  }
  write_outputs();
  if (short_of_memory_) return Error(ErrorCode::kExhausted, "not enough memory for constants");
  return {};
}

// Lets a computed value live in an output or state buffer from the start.
bool Lowering::rehome(ValueId value, Home home, uint32_t index) {
  const ValueId root = info(value).root;
  const Value& whole = info(root);
  if (whole.home != Home::kArena || info(value).offset != 0 || whole.bytes != info(value).bytes) {
    return false;
  }
  for (Value& other : plan_.values) {
    if (other.root != root) continue;
    other.home = home;
    other.index = index;
  }
  return true;
}

void Lowering::convert_to_external(TensorId tensor, ValueId external) {
  const ValueId from = value(tensor, Layout::kPlain);
  const DType to = info(external).dtype;
  const auto count = static_cast<size_t>(type(tensor).elements());
  if (info(from).dtype == to) {
    const auto elements = static_cast<int64_t>(count);
    add_copy(CopyPlan(size_of(to), {{elements, 1, 1}}), "own: copy", from, external);
    return;
  }
  add(step_of([=](const RunContext& context) {
        narrow(to, context.at<float>(from), context.at<uint16_t>(external), count);
      }),
      "own: from float32", {from}, {external});
}

void Lowering::write_output(TensorId tensor, Home home, uint32_t index) {
  op_name_ = program_.tensors[tensor].name;
  const bool same_type = stored(tensor) == type(tensor).dtype;
  if (same_type && !is_constant(tensor) && rehome(value(tensor, Layout::kPlain), home, index)) {
    return;
  }
  convert_to_external(tensor, add_external(tensor, home, index));
}

void Lowering::write_outputs() {
  phase_ = Phase::kHistory;
  for (uint32_t i = 0; i < program_.states.size(); ++i) {
    write_output(program_.states[i].next, Home::kStateNext, i);
  }
  phase_ = Phase::kDownload;
  for (uint32_t i = 0; i < program_.outputs.size(); ++i) {
    write_output(program_.outputs[i], Home::kOutput, i);
  }
}

void Lowering::place_arena() {
  const std::vector<uint32_t> last = last_uses(plan_);
  std::vector<Lifetime> lifetimes(plan_.values.size());
  std::vector<bool> seen(plan_.values.size(), false);
  for (uint32_t step = 0; step < plan_.steps.size(); ++step) {
    const auto touch = [&](ValueId id) {
      const ValueId root = info(id).root;
      if (seen[root] || info(root).home != Home::kArena) return;
      seen[root] = true;
      lifetimes[root] = {info(root).bytes, step, last[root]};
    };
    std::for_each(plan_.steps[step].writes.begin(), plan_.steps[step].writes.end(), touch);
    std::for_each(plan_.steps[step].reads.begin(), plan_.steps[step].reads.end(), touch);
  }
  MemoryPlan memory = plan_memory(lifetimes, AlignedBytes::kCacheLine);
  plan_.arena_offsets = std::move(memory.offsets);
  plan_.arena_bytes = memory.arena_bytes;
}

void Lowering::drop_unused_constants() {
  std::vector<bool> used(plan_.values.size(), false);
  for (const StepRecord& record : plan_.steps) {
    for (const ValueId id : record.reads) used[info(id).root] = true;
  }
  for (ValueId id = 0; id < used.size(); ++id) {
    if (!used[id]) plan_.constants[id] = AlignedBytes();
  }
}

Result<Plan> Lowering::finish() && {
  raw_constants_.clear();
  share_in_place(plan_);
  place_arena();
  drop_unused_constants();
  return std::move(plan_);
}

bool keeps(const Program& program, const Op& op) {
  return op.kind == OpKind::kAttention ? keeps_attention(program, op) : keeps_region(program, op);
}

Result<Plan> make_plan(const Program& program, WeightSource& weights,
                       const std::vector<std::optional<FrameBinding>>& frames, unsigned members) {
  const OneThreadScope one_thread;
  // What no family has code for runs as the ops that it stands for.
  const Program plain = expanded(program, [&](const Op& op) { return keeps(program, op); });
  Lowering lowering(plain, frames, members);
  MODELD_TRY(lowering.load_constants(weights));
  MODELD_TRY(lowering.lower_all());
  return std::move(lowering).finish();
}

}  // namespace modeld::cpu
