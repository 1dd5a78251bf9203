#include "runtime/opencl/lowering.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/checked.h"
#include "runtime/base/half.h"
#include "runtime/program/memory_plan.h"

namespace modeld::opencl {
namespace {

std::string name_of(const Op& op) {
  return op.name.empty() ? std::string(to_string(op.kind)) : op.name;
}

}  // namespace

Lowering::Lowering(const Program& program, const std::vector<std::optional<FrameBinding>>& frames,
                   const Traits& traits, const Tuning& tuning, uint64_t alignment)
    : program_(program),
      frames_(frames),
      defaults_(traits),
      tuning_(tuning),
      traits_(traits),
      // A cache line, so that neighbours do not share one.
      alignment_(std::max<uint64_t>(alignment, 64)),
      tensors_(program.tensors.size()) {
  count_uses();
}

void Lowering::count_uses() {
  uses_.assign(program_.tensors.size(), 0);
  for (const Op& op : program_.ops) {
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor) ++uses_[id];
    }
  }
  // What the host or a state reads is stored whatever ops do with it.
  for (const TensorId id : program_.outputs) uses_[id] += 2;
  for (const StateBinding& state : program_.states) uses_[state.next] += 2;
}

Status Lowering::load_constants(WeightSource& weights) {
  std::vector<TensorId> constants;
  for (TensorId id = 0; id < program_.tensors.size(); ++id) {
    if (is_constant(id) && uses_[id] > 0) constants.push_back(id);
  }
  std::sort(constants.begin(), constants.end(), [&](TensorId a, TensorId b) {
    return program_.tensors[a].weight->offset < program_.tensors[b].weight->offset;
  });
  for (const TensorId id : constants) MODELD_TRY(read_constant(id, weights));
  return {};
}

Status Lowering::read_constant(TensorId tensor, WeightSource& weights) {
  std::vector<std::byte> bytes(type(tensor).bytes());
  if (Status status = weights.read(program_.tensors[tensor].weight->offset, bytes); !status.ok()) {
    return std::move(status).error().in("weights of '" + program_.tensors[tensor].name + "'");
  }
  raw_constants_[tensor] = std::move(bytes);
  return {};
}

std::vector<float> Lowering::constant_floats(TensorId tensor) const {
  const std::vector<std::byte>& bytes = raw_constants_.at(tensor);
  std::vector<float> values(static_cast<size_t>(type(tensor).elements()));
  const DType dtype = type(tensor).dtype;
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kFloat32) {
      std::memcpy(&values[i], bytes.data() + i * 4, 4);
    } else if (dtype == DType::kFloat64) {
      double value;
      std::memcpy(&value, bytes.data() + i * 8, 8);
      values[i] = static_cast<float>(value);
    } else {
      uint16_t bits;
      std::memcpy(&bits, bytes.data() + i * 2, 2);
      values[i] = dtype == DType::kFloat16 ? half_to_float(bits) : bfloat_to_float(bits);
    }
  }
  return values;
}

const Nv12Layout& Lowering::frame_layout(TensorId tensor) const {
  const auto at = std::find(program_.inputs.begin(), program_.inputs.end(), tensor);
  return frames_[static_cast<size_t>(at - program_.inputs.begin())]->layout;
}

RootId Lowering::add_root(Home home, uint64_t bytes, uint32_t index) {
  plan_.roots.push_back({home, bytes, 0, index});
  return static_cast<RootId>(plan_.roots.size() - 1);
}

View Lowering::temporary(DType dtype, Shape shape) {
  View view;
  view.dtype = dtype;
  view.shape = std::move(shape);
  view.strides = dense_strides(view.shape, Layout::kPlain);
  view.root = add_root(Home::kArena, static_cast<uint64_t>(view.elements()) * size_of(dtype));
  return view;
}

View Lowering::constant(DType dtype, Shape shape, std::vector<std::byte> bytes) {
  View view;
  view.dtype = dtype;
  view.shape = std::move(shape);
  view.strides = dense_strides(view.shape, Layout::kPlain);
  view.root = add_root(Home::kConstant, bytes.size());
  plan_.constants.push_back({view.root, std::move(bytes)});
  return view;
}

View Lowering::constant(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return constant(DType::kFloat32, {static_cast<int64_t>(values.size())}, std::move(bytes));
}

RootId Lowering::flags() {
  if (flags_ == kNoRoot) flags_ = add_root(Home::kFlags, kFlagCount * sizeof(uint32_t));
  plan_.uses_flags = true;
  return flags_;
}

View Lowering::define(TensorId tensor, Layout layout) {
  DType stored = dtype(tensor);
  const bool narrow = stored == DType::kFloat16 || stored == DType::kBFloat16;
  if (narrow && !traits_.store_half) stored = DType::kFloat32;
  View view = temporary(stored, shape(tensor));
  view.strides = dense_strides(view.shape, layout);
  tensors_[tensor].view = view;
  return view;
}

View Lowering::view(TensorId tensor) {
  TensorState& state = tensors_[tensor];
  if (state.view) return *state.view;
  if (is_constant(tensor)) {
    state.view = constant(dtype(tensor), shape(tensor), raw_constants_.at(tensor));
    return *state.view;
  }
  const Layout layout = pending_layout(*this, tensor);
  const View to = define(tensor, layout);
  tensors_[tensor].view.reset();
  compute_pending(tensor, to);
  tensors_[tensor].view = to;
  return to;
}

// Under the name and phase of the op that was put off.
void Lowering::compute_pending(TensorId tensor, const View& to) {
  const Op& op = *tensors_[tensor].pending;
  const Phase phase = std::exchange(phase_, op.phase);
  const std::string name = std::exchange(op_name_, name_of(op));
  emit_elements(*this, tensor, to);
  tensors_[tensor].pending = nullptr;
  phase_ = phase;
  op_name_ = name;
}

View Lowering::dense(TensorId tensor, Layout layout) {
  const View have = view(tensor);
  if (is_dense(have, layout)) return have;
  std::optional<View>& made = tensors_[tensor].dense[static_cast<size_t>(layout)];
  if (made) return *made;
  View copy = temporary(have.dtype, have.shape);
  copy.strides = dense_strides(copy.shape, layout);
  add_copy(have, copy, "copy");
  tensors_[tensor].dense[static_cast<size_t>(layout)] = copy;
  return copy;
}

Layout Lowering::layout_of(TensorId tensor) {
  if (pending(tensor) != nullptr) return pending_layout(*this, tensor);
  return preferred_layout(view(tensor));
}

void Lowering::put_off(TensorId output, const Op& op, size_t cost) {
  tensors_[output].pending = &op;
  tensors_[output].cost = cost;
}

void Lowering::add(Launch launch, std::string how) {
  for (const size_t extent : launch.global) {
    if (extent == 0) return;
  }
  launch.op = op_name_;
  launch.how = std::move(how) + (tuned_ ? ", tuned" : "");
  launch.signature = signature_;
  launch.phase = phase_;
  plan_.launches.push_back(std::move(launch));
}

void Lowering::add_copy(const View& from, const View& to, std::string how) {
  if (to.elements() == 0) return;
  add(element_copy(traits_, from, to), std::move(how));
}

void Lowering::compute_into(TensorId tensor, const View& to) {
  if (pending(tensor) != nullptr) {
    compute_pending(tensor, to);
  } else {
    add_copy(view(tensor), to, "copy");
  }
}

void Lowering::define_sources() {
  const auto define_source = [&](TensorId tensor, RootId root) {
    View view;
    view.root = root;
    view.dtype = dtype(tensor);
    view.shape = shape(tensor);
    view.strides = dense_strides(view.shape, Layout::kPlain);
    tensors_[tensor].view = std::move(view);
  };
  for (uint32_t i = 0; i < program_.inputs.size(); ++i) {
    const TensorId id = program_.inputs[i];
    const bool bound = frames_[i] && frames_[i]->mode == InputMode::kBind;
    const uint64_t bytes = frames_[i] ? frames_[i]->layout.length : type(id).bytes();
    plan_.inputs.push_back(add_root(bound ? Home::kBound : Home::kUpload, bytes, i));
    define_source(id, plan_.inputs.back());
  }
  for (const StateBinding& state : program_.states) {
    plan_.current.push_back(add_root(Home::kState, type(state.current).bytes()));
    define_source(state.current, plan_.current.back());
  }
}

Status Lowering::lower_op() {
  for (const TensorId id : op_->inputs) {
    if (id == kNoTensor || dtype(id) != DType::kFloat64 || traits_.has_double) continue;
    return Error(ErrorCode::kUnsupported, "element type of an input")
        .expecting("a type the device has (no cl_khr_fp64)", "f64");
  }
  constexpr std::array kFamilies = {lower_warp,        lower_move,    lower_pointwise,
                                    lower_convolution, lower_product, lower_normalisation,
                                    lower_reduction,   lower_window,  lower_plainly};
  for (const auto family : kFamilies) {
    MODELD_ASSIGN(const bool done, family(*this));
    if (done) return {};
  }
  return Error(ErrorCode::kUnsupported, "no implementation on the opencl backend");
}

void Lowering::begin(const Op& op) {
  op_ = &op;
  phase_ = op.phase;
  op_name_ = name_of(op);
  signature_ = op_signature(program_, op);
  const KernelShape* const found = tuning_.find(signature_);
  tuned_ = found != nullptr;
  traits_ = defaults_;
  if (tuned_) static_cast<KernelShape&>(traits_) = *found;
}

Status Lowering::lower_all() {
  define_sources();
  for (const Op& op : program_.ops) {
    begin(op);
    if (auto status = lower_op(); !status.ok()) {
      return std::move(status).error().in("op " + op_name_ + " (" +
                                          std::string(to_string(op.kind)) + ")");
    }
  }
  signature_.clear();
  tuned_ = false;
  traits_ = defaults_;
  write_outputs();
  return {};
}

// A root of `home` that holds the tensor densely, in C order and its own type.
RootId Lowering::keep(TensorId tensor, Home home) {
  op_name_ = program_.tensors[tensor].name;
  const View have = view(tensor);
  Root& root = plan_.roots[have.root];
  const bool whole = have.offset == 0 && have.dtype == dtype(tensor) &&
                     is_dense(have, Layout::kPlain) && root.bytes == type(tensor).bytes();
  if (whole && root.home == Home::kArena) {
    root.home = home;
    return have.root;
  }
  // A kept value may be a state's next whatever block it lies in.
  if (whole && home == Home::kNext && root.home != Home::kUpload && root.home != Home::kBound &&
      root.home != Home::kState) {
    return have.root;
  }
  View to = temporary(dtype(tensor), shape(tensor));
  plan_.roots[to.root].home = home;
  add_copy(have, to, "copy");
  return to.root;
}

void Lowering::write_outputs() {
  phase_ = Phase::kDownload;
  for (const TensorId id : program_.outputs) {
    // One download may serve two outputs of the same tensor, but each has its own place.
    plan_.outputs.push_back(keep(id, Home::kDownload));
  }
  phase_ = Phase::kHistory;
  for (const StateBinding& state : program_.states) {
    plan_.next.push_back(keep(state.next, Home::kNext));
    check_finite(state.next, plan_.next.back());
  }
}

// Counts what is infinite or not a number, so that it is refused before commit: nobody else looks
// at a state that is not an output.
void Lowering::check_finite(TensorId tensor, RootId root) {
  if (!is_float(dtype(tensor))) return;
  const View values{root, dtype(tensor), 0, shape(tensor),
                    dense_strides(shape(tensor), Layout::kPlain)};
  const int64_t count = values.elements();
  if (count == 0) return;
  const Compute compute = compute_of(values.dtype);
  const bool wide = compute == Compute::kDouble;
  KernelWriter writer;
  const std::string in = writer.input(values);
  const std::string counters = writer.flags(flags());
  writer << "const long e = (long)get_global_id(0);\nif (e >= " << std::to_string(count)
         << ") return;\nconst " << type_name(compute)
         << " v = " << load(values.dtype, in, "e", compute) << ";\n"
         << (wide ? "const ulong exponent = 0x7ff0000000000000UL;\nif ((as_ulong(v)"
                  : "const uint exponent = 0x7f800000u;\nif ((as_uint(v)")
         << " & exponent) == exponent) atomic_inc(&" << counters << "[2]);\n";
  Launch launch = std::move(writer).finish();
  constexpr size_t kGroup = 64;
  launch.local[0] = kGroup;
  launch.global[0] = (static_cast<size_t>(count) + kGroup - 1) / kGroup * kGroup;
  add(std::move(launch), "finite");
}

void Lowering::place_block(Home home, uint64_t& bytes) {
  bytes = 0;
  for (Root& root : plan_.roots) {
    if (root.home != home) continue;
    root.offset = bytes;
    bytes = align_up(bytes + root.bytes, alignment_);
  }
}

void Lowering::place_arena() {
  std::vector<Lifetime> lifetimes(plan_.roots.size());
  std::vector<bool> seen(plan_.roots.size(), false);
  for (uint32_t step = 0; step < plan_.launches.size(); ++step) {
    for (const Argument& argument : plan_.launches[step].arguments) {
      if (argument.root == kNoRoot) continue;
      Lifetime& life = lifetimes[argument.root];
      if (plan_.roots[argument.root].home != Home::kArena) continue;
      if (!seen[argument.root]) life = {plan_.roots[argument.root].bytes, step, step};
      seen[argument.root] = true;
      life.last = step;
    }
  }
  const MemoryPlan plan = plan_memory(lifetimes, alignment_);
  for (RootId id = 0; id < plan_.roots.size(); ++id) {
    if (plan_.roots[id].home == Home::kArena) plan_.roots[id].offset = plan.offsets[id];
  }
  plan_.arena_bytes = plan.arena_bytes;
}

void Lowering::drop_unused_constants() {
  std::vector<bool> used(plan_.roots.size(), false);
  for (const Launch& launch : plan_.launches) {
    for (const Argument& argument : launch.arguments) {
      if (argument.root != kNoRoot) used[argument.root] = true;
    }
  }
  for (const RootId id : plan_.next) used[id] = true;
  std::erase_if(plan_.constants, [&](const ConstantBytes& one) { return !used[one.root]; });
}

Plan Lowering::finish() && {
  drop_unused_constants();
  place_arena();
  place_block(Home::kUpload, plan_.upload_bytes);
  place_block(Home::kDownload, plan_.download_bytes);
  return std::move(plan_);
}

}  // namespace modeld::opencl
