// Ops that work element by element, fused into one kernel per chain: an op whose only reader is
// another such op of the same shape is put off and computed inside its reader's kernel.
#include <array>
#include <map>

#include "runtime/opencl/element_loop.h"
#include "runtime/opencl/expressions.h"
#include "runtime/opencl/lowering.h"

namespace modeld::opencl {
namespace {

// Above this, chains are cut: kernels have limited arguments and registers.
constexpr size_t kMaxChain = 16;

bool is_elementwise(OpKind kind) {
  return is_unary(kind) || is_binary(kind) || kind == OpKind::kCast || kind == OpKind::kWhere ||
         kind == OpKind::kBatchNormalization;
}

class ElementKernel {
 public:
  ElementKernel(Lowering& lowering, const View& to) : lowering_(lowering), to_(to) {}

  // Views of what the chain reads, broadcast to the output's shape.
  void collect(const Op& op) {
    for (const TensorId id : op.inputs) {
      if (id == kNoTensor) continue;
      if (const Op* inner = inlined(id)) {
        collect(*inner);
      } else if (!leaves_.contains(key_of(op, id))) {
        View view = lowering_.view(id);
        if (key_of(op, id).second) {
          // Per channel of axis 1.
          View channels = view;
          channels.shape.assign(to_.shape.size() > 1 ? to_.shape.size() - 1 : 1, 1);
          channels.strides.assign(channels.shape.size(), 0);
          channels.shape[0] = view.shape[0];
          channels.strides[0] = view.strides[0];
          view = channels;
        }
        leaves_[key_of(op, id)] = views_.size();
        views_.push_back(broadcast(view, to_.shape));
      }
    }
    if (op.inputs.empty()) return;
    vector_ = vector_ && has_vector_form_of(op);
    if (needs_flags(op.kind, lowering_.dtype(op.inputs[0]))) needs_flags_ = true;
  }

  Launch write(const Op& root);

 private:
  // A leaf, and whether it is read as one number per channel (axis 1).
  using LeafKey = std::pair<TensorId, bool>;
  static LeafKey key_of(const Op& op, TensorId id) {
    return {id, op.kind == OpKind::kBatchNormalization && id != op.inputs[0]};
  }

  const Op* inlined(TensorId id) const {
    const Op* op = lowering_.pending(id);
    return op != nullptr && lowering_.shape(id) == to_.shape ? op : nullptr;
  }

  bool has_vector_form_of(const Op& op) const {
    if (op.kind == OpKind::kWhere) return false;
    for (const TensorId id : op.inputs) {
      if (id == kNoTensor) continue;
      if (op.kind != OpKind::kCast && compute_of(lowering_.dtype(id)) != Compute::kFloat) {
        return false;
      }
      if (inlined(id) == nullptr && !loads_vectors(lowering_.dtype(id))) return false;
    }
    const DType out = lowering_.dtype(op.outputs[0]);
    if (op.kind == OpKind::kCast) {
      // To a half type a cast rounds, which is done by the element; from an integer only as a leaf.
      const DType in = lowering_.dtype(op.inputs[0]);
      return out == DType::kFloat32 && (is_float(in) || inlined(op.inputs[0]) == nullptr);
    }
    return compute_of(out) == Compute::kFloat &&
           (op.kind == OpKind::kBatchNormalization || has_vector_form(op.kind));
  }

  struct Variable {
    std::string name;
    Compute compute;
  };

  std::string declare(Compute compute, const std::string& value) {
    const std::string name = "v" + std::to_string(variables_++);
    body_ += type_name(compute, width_) + " " + name + " = " + value + ";\n";
    return name;
  }

  Variable emit(const Op& op, size_t input);
  Variable emit_op(const Op& op);
  Variable emit_batch_norm(const Op& op);
  Variable emit_cast(const Op& op);
  Variable as(Variable from, Compute to, DType dtype);

  Lowering& lowering_;
  const View& to_;
  std::vector<View> views_;
  std::map<LeafKey, size_t> leaves_;
  std::map<LeafKey, Variable> loaded_;
  bool vector_ = true;
  bool needs_flags_ = false;
  uint32_t width_ = 1;
  KernelWriter writer_;
  std::vector<std::string> pointers_;
  std::vector<bool> varies_;  // by leaf: moves along the innermost axis
  std::string flags_ = "0";
  std::string body_;
  int variables_ = 0;
};

ElementKernel::Variable ElementKernel::as(Variable from, Compute to, DType dtype) {
  if (from.compute == to) return from;
  return {declare(to, converted(from.name, from.compute, to, dtype)), to};
}

ElementKernel::Variable ElementKernel::emit(const Op& op, size_t input) {
  const TensorId id = op.inputs[input];
  if (const Op* inner = inlined(id)) return emit_op(*inner);
  const LeafKey key = key_of(op, id);
  if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second;
  const size_t leaf = leaves_.at(key);
  const View& view = views_[leaf];
  Compute compute = compute_of(view.dtype);
  const std::string at = "i" + std::to_string(leaf + 1);
  std::string value;
  if (width_ == 1) {
    value = load(view.dtype, pointers_[leaf], at, compute);
  } else {
    compute = Compute::kFloat;
    value = varies_[leaf] ? load(view.dtype, pointers_[leaf], at, compute, width_)
                          : "(" + type_name(compute, width_) + ")(" +
                                load(view.dtype, pointers_[leaf], at, compute) + ")";
  }
  const Variable variable{declare(compute, value), compute};
  loaded_[key] = variable;
  return variable;
}

// y = (x - mean) / sqrt(var + epsilon) * scale + B
ElementKernel::Variable ElementKernel::emit_batch_norm(const Op& op) {
  const Variable x = emit(op, 0);
  std::array<std::string, 5> v{x.name};
  for (size_t i = 1; i < 5; ++i) {
    v[i] = as(emit(op, i), x.compute, lowering_.dtype(op.inputs[0])).name;
  }
  const std::string epsilon = literal(op.attributes.get_float("epsilon"), x.compute);
  return {declare(x.compute,
                  fill("(@x@ - @mean@) / sqrt(@var@ + @e@) * @scale@ + @bias@", {{"x", v[0]},
                                                                                 {"scale", v[1]},
                                                                                 {"bias", v[2]},
                                                                                 {"mean", v[3]},
                                                                                 {"var", v[4]},
                                                                                 {"e", epsilon}})),
          x.compute};
}

ElementKernel::Variable ElementKernel::emit_cast(const Op& op) {
  const Variable x = emit(op, 0);
  const DType to = lowering_.dtype(op.outputs[0]);
  const Compute compute = compute_of(to);
  if (width_ > 1) return x;  // float to float
  if (is_float(to) && size_of(to) == 2) {
    const Variable real = as(x, Compute::kFloat, DType::kFloat32);
    return {declare(Compute::kFloat, narrowed(real.name, Compute::kFloat, to)), Compute::kFloat};
  }
  // float32 from a wider type is one rounding; between integers a cast wraps.
  return {declare(compute, converted(x.name, x.compute, compute, to)), compute};
}

ElementKernel::Variable ElementKernel::emit_op(const Op& op) {
  const DType out = lowering_.dtype(op.outputs[0]);
  if (op.kind == OpKind::kCast) return emit_cast(op);
  if (op.kind == OpKind::kBatchNormalization) return emit_batch_norm(op);
  if (op.kind == OpKind::kWhere) {
    const Variable condition = emit(op, 0);
    const Variable a = emit(op, 1);
    const Variable b = emit(op, 2);
    return {declare(a.compute, condition.name + " ? " + a.name + " : " + b.name), a.compute};
  }
  Variable first = emit(op, 0);
  if (is_unary(op.kind)) {
    const std::string value = unary_expression(op.kind, op.attributes, first.name, first.compute,
                                               width_, lowering_.dtype(op.inputs[0]));
    first = {declare(first.compute, value), first.compute};
  }
  for (size_t i = 1; is_binary(op.kind) && i < op.inputs.size(); ++i) {
    const Variable next = emit(op, i);
    const std::string value = binary_expression(op.kind, op.attributes, first.name, first.compute,
                                                next.name, next.compute, flags_);
    const Compute compute = is_comparison(op.kind) ? Compute::kUnsigned : first.compute;
    if (op.kind == OpKind::kPow && !is_real(first.compute) && is_real(next.compute)) {
      first = as({value, next.compute}, first.compute, out);
      first.name = declare(first.compute, first.name);
    } else {
      first = {declare(compute, value), compute};
    }
  }
  // Integers wrap into their type between ops, as they would in memory.
  if (!is_real(first.compute) && size_of(out) < 8 && out != DType::kBool) {
    first.name = declare(first.compute, narrowed(first.name, first.compute, out));
  }
  return first;
}

Launch ElementKernel::write(const Op& root) {
  std::vector<const View*> views{&to_};
  for (const View& view : views_) views.push_back(&view);
  const ElementLoop loop(lowering_.traits(), views, vector_ && stores_vectors(to_.dtype));
  width_ = loop.width();
  const std::string out = writer_.output(to_);
  for (size_t i = 0; i < views_.size(); ++i) {
    pointers_.push_back(writer_.input(views_[i]));
    varies_.push_back(loop.varies(i + 1));
  }
  if (needs_flags_) flags_ = writer_.flags(lowering_.flags());
  const Variable result = emit_op(root);
  body_ += store(to_.dtype, out, "i0", result.name, result.compute, width_) + "\n";
  return loop.write(std::move(writer_), body_);
}

bool can_put_off(Lowering& lowering, const Op& op, size_t cost) {
  return lowering.uses(op.outputs[0]) == 1 && cost < kMaxChain &&
         lowering.type(op.outputs[0]).elements() > 0;
}

}  // namespace

Layout pending_layout(Lowering& lowering, TensorId tensor) {
  const Op* op = lowering.pending(tensor);
  if (op == nullptr) return preferred_layout(lowering.view(tensor));
  // The first input of the output's shape decides: a broadcast one says little.
  for (const TensorId id : op->inputs) {
    if (id == kNoTensor || lowering.shape(id) != lowering.shape(tensor)) continue;
    if (lowering.is_constant(id)) continue;
    return pending_layout(lowering, id);
  }
  for (const TensorId id : op->inputs) {
    if (id == kNoTensor || lowering.shape(id).size() != lowering.shape(tensor).size()) continue;
    if (lowering.is_constant(id)) continue;
    return pending_layout(lowering, id);
  }
  return Layout::kPlain;
}

void emit_elements(Lowering& lowering, TensorId tensor, const View& to) {
  if (to.elements() == 0) return;
  const Op& op = *lowering.pending(tensor);
  ElementKernel kernel(lowering, to);
  kernel.collect(op);
  lowering.add(kernel.write(op), "pointwise");
}

Launch element_copy(const Traits& traits, const View& from, const View& to) {
  View source = from;
  View target = to;
  const bool same = from.dtype == to.dtype;
  if (same) {
    // Bytes that stay what they are move as integers of their size: no NaN changes.
    constexpr std::array kBySize = {DType::kUInt8, DType::kUInt8, DType::kUInt16, DType::kUInt32,
                                    DType::kUInt32};
    const size_t size = size_of(to.dtype);
    source.dtype = target.dtype = size == 8 ? DType::kUInt64 : kBySize[size];
  }
  const bool vectors = same || (loads_vectors(from.dtype) && stores_vectors(to.dtype));
  const ElementLoop loop(traits, {&target, &source}, vectors);
  KernelWriter writer;
  const std::string out = writer.output(target);
  const std::string in = writer.input(source);
  const uint32_t width = loop.width();
  const std::string w = std::to_string(width);
  std::string body;
  if (same && width == 1) {
    body = out + "[i0] = " + in + "[i1];\n";
  } else if (same) {
    const std::string value = loop.varies(1)
                                  ? "vload" + w + "(0, " + in + " + i1)"
                                  : "(" + storage_name(source.dtype) + w + ")(" + in + "[i1])";
    body = "vstore" + w + "(" + value + ", 0, " + out + " + i0);\n";
  } else {
    const Compute compute = width > 1 ? Compute::kFloat : compute_of(from.dtype);
    std::string value = load(from.dtype, in, "i1", compute, loop.varies(1) ? width : 1);
    if (width > 1 && !loop.varies(1)) value = "(" + type_name(compute, width) + ")(" + value + ")";
    body = store(to.dtype, out, "i0", value, compute, width) + "\n";
  }
  return loop.write(std::move(writer), body);
}

Result<bool> lower_pointwise(Lowering& lowering) {
  const Op& op = lowering.op();
  if (!is_elementwise(op.kind)) return false;
  const TensorId out = op.outputs[0];
  size_t cost = 1;
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor || lowering.pending(id) == nullptr) continue;
    if (lowering.shape(id) != lowering.shape(out) || lowering.pending(id)->phase != op.phase ||
        cost + lowering.pending_cost(id) > kMaxChain) {
      lowering.view(id);  // computed on its own
    } else {
      cost += lowering.pending_cost(id);
    }
  }
  lowering.put_off(out, op, cost);
  // What cannot be put off is computed at once; reading it does that.
  if (!can_put_off(lowering, op, cost)) lowering.view(out);
  return true;
}

}  // namespace modeld::opencl
