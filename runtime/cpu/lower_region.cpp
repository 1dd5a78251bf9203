// Pointwise ops, block by block: every op of the body runs over a few KiB of elements that stay in
// the first cache before the next block's turn.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/block_kernel.h"
#include "runtime/cpu/lowering.h"
#include "runtime/cpu/operands.h"
#include "runtime/program/expand.h"

namespace modeld::cpu {
namespace {

constexpr int64_t kBlock = 1024;              // elements, or a few more than half of that
constexpr size_t kMostBytes = sizeof(float);  // of an element of a body's result

// How the elements of an input meet those of the region.
enum class Reading : uint8_t {
  kDense,    // one for one
  kOne,      // a single element for all
  kPattern,  // repeats every `period` elements: written out for a block, once per run
  kGather,   // by strides, block by block
};

struct Axis {
  int64_t extent;
  int64_t stride;
};

struct Input {
  ValueId value = kNoValue;
  Reading reading = Reading::kDense;
  size_t element = 0;  // bytes
  int64_t period = 0;
  std::vector<Axis> axes;  // outer to inner, in the region's storage order, merged
};

// The region's axes in storage order with the input's strides.
std::vector<Axis> axes_of(const Shape& shape, Layout layout, const BroadcastPlan::Input& input) {
  std::vector<int64_t> by_axis(shape.size(), 0);
  const std::vector<int64_t> own = strides_of(input.shape, input.layout);
  const size_t skip = shape.size() - input.shape.size();
  for (size_t i = 0; i < own.size(); ++i) {
    if (input.shape[i] != 1) by_axis[skip + i] = own[i];
  }
  std::vector<Axis> axes;
  for (const size_t axis : storage_order(shape.size(), layout)) {
    if (shape[axis] == 1) continue;
    const Axis next{shape[axis], by_axis[axis]};
    if (!axes.empty() && axes.back().stride == next.stride * next.extent) {
      axes.back() = {axes.back().extent * next.extent, next.stride};
    } else {
      axes.push_back(next);
    }
  }
  return axes;
}

// After how many elements the input starts over.
int64_t period_of(const std::vector<Axis>& axes) {
  size_t first = 0;
  while (first < axes.size() && axes[first].stride == 0) ++first;
  int64_t period = 1;
  for (size_t i = first; i < axes.size(); ++i) period *= axes[i].extent;
  return period;
}

Input input_of(const Lowering& lowering, TensorId id, const Operands& operands, size_t index,
               const Shape& shape) {
  Input input;
  input.value = operands.values[index];
  input.element = size_of(lowering.stored(id));
  if (lowering.shape(id) == shape) return input;
  input.axes = axes_of(shape, operands.layout, operands.inputs[index]);
  input.period = period_of(input.axes);
  if (lowering.type(id).elements() == 1) {
    input.reading = Reading::kOne;
  } else if (input.axes.size() == 1 && input.axes[0].stride == 1) {
    input.reading = Reading::kDense;  // only extents of 1 are missing
  } else {
    input.reading = input.period <= kBlock ? Reading::kPattern : Reading::kGather;
  }
  return input;
}

// A multiple of every pattern's period, where that can be.
int64_t block_length(std::vector<Input>& inputs) {
  int64_t longest = 1;
  for (const Input& input : inputs) {
    if (input.reading == Reading::kPattern) longest = std::max(longest, input.period);
  }
  const int64_t block = kBlock / longest * longest;
  for (Input& input : inputs) {
    if (input.reading == Reading::kPattern && block % input.period != 0) {
      input.reading = Reading::kGather;
    }
  }
  return block;
}

template <typename T>
void gather_typed(const std::vector<Axis>& axes, const T* from, T* to, int64_t begin,
                  int64_t count) {
  const Axis inner = axes.back();
  int64_t in_row = begin % inner.extent;
  int64_t row = begin / inner.extent;
  while (count > 0) {
    int64_t rest = row;
    int64_t offset = in_row * inner.stride;
    for (size_t i = axes.size() - 1; i-- > 0;) {
      offset += rest % axes[i].extent * axes[i].stride;
      rest /= axes[i].extent;
    }
    const int64_t length = std::min(count, inner.extent - in_row);
    if (inner.stride == 0) {
      std::fill_n(to, length, from[offset]);
    } else if (inner.stride == 1) {
      std::copy_n(from + offset, length, to);
    } else {
      for (int64_t i = 0; i < length; ++i) to[i] = from[offset + i * inner.stride];
    }
    to += length;
    count -= length;
    in_row = 0;
    ++row;
  }
}

void gather(const Input& input, const std::byte* from, std::byte* to, int64_t begin,
            int64_t count) {
  const auto typed = [&]<typename T>(T) {
    gather_typed(input.axes, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), begin,
                 count);
  };
  input.element == 1   ? typed(uint8_t{})
  : input.element == 2 ? typed(uint16_t{})
                       : typed(uint32_t{});
}

struct BodyStep {
  BlockKernel kernel = nullptr;
  Activation activation;
  std::vector<uint32_t> operands;
};

// Where a result of the body goes: straight into an output, or to a place among the scratch blocks.
struct Place {
  ValueId output = kNoValue;
  size_t slot = 0;
  size_t element = kMostBytes;
};

struct Body {
  std::vector<Input> inputs;
  std::vector<BodyStep> steps;
  std::vector<Place> places;        // of each step's result
  std::vector<size_t> input_slots;  // of inputs that are written out
  size_t slots = 0;
  int64_t block = kBlock;
  int64_t elements = 0;
  ValueId scratch = kNoValue;

  uint64_t slot_bytes() const { return static_cast<uint64_t>(block) * kMostBytes; }
};

class RegionStep final : public Step {
 public:
  explicit RegionStep(Body body) : body_(std::move(body)) {}

  void run(const RunContext& context) override {
    const int64_t blocks = (body_.elements + body_.block - 1) / body_.block;
    const Share share = share_of(blocks, context.part, context.parts);
    if (share.begin == share.end) return;
    std::byte* scratch =
        context.at<std::byte>(body_.scratch) + context.part * body_.slots * body_.slot_bytes();
    for (size_t i = 0; i < body_.inputs.size(); ++i) {
      const Input& input = body_.inputs[i];
      if (input.reading != Reading::kPattern) continue;
      gather(input, context.at<std::byte>(input.value),
             scratch + body_.input_slots[i] * body_.slot_bytes(), 0,
             std::min(body_.block, body_.elements));
    }
    for (int64_t i = share.begin; i < share.end; ++i) {
      const int64_t begin = i * body_.block;
      run_block(context, scratch, begin, std::min(body_.block, body_.elements - begin));
    }
  }

 private:
  BlockOperand read_input(const RunContext& context, std::byte* scratch, size_t index,
                          int64_t begin) const {
    const Input& input = body_.inputs[index];
    const std::byte* data = context.at<std::byte>(input.value);
    if (input.reading == Reading::kOne) return {data, true};
    if (input.reading == Reading::kDense) {
      return {data + static_cast<size_t>(begin) * input.element, false};
    }
    return {scratch + body_.input_slots[index] * body_.slot_bytes(), false};
  }

  std::byte* place(const RunContext& context, std::byte* scratch, size_t step,
                   int64_t begin) const {
    const Place& place = body_.places[step];
    if (place.output == kNoValue) return scratch + place.slot * body_.slot_bytes();
    return context.at<std::byte>(place.output) + static_cast<size_t>(begin) * place.element;
  }

  void run_block(const RunContext& context, std::byte* scratch, int64_t begin,
                 int64_t count) const {
    const size_t inputs = body_.inputs.size();
    for (size_t i = 0; i < inputs; ++i) {
      const Input& input = body_.inputs[i];
      if (input.reading != Reading::kGather) continue;
      gather(input, context.at<std::byte>(input.value),
             scratch + body_.input_slots[i] * body_.slot_bytes(), begin, count);
    }
    for (size_t s = 0; s < body_.steps.size(); ++s) {
      const BodyStep& step = body_.steps[s];
      BlockCall call{{}, place(context, scratch, s, begin), count, step.activation};
      for (size_t i = 0; i < step.operands.size(); ++i) {
        const uint32_t operand = step.operands[i];
        call.operands[i] =
            operand < inputs
                ? read_input(context, scratch, operand, begin)
                : BlockOperand{place(context, scratch, operand - inputs, begin), false};
      }
      step.kernel(call);
    }
  }

  const Body body_;
};

std::vector<DType> operand_types(const Program& program, const Op& op, const Expansion& expansion,
                                 const InnerOp& inner) {
  std::vector<DType> types;
  for (const uint32_t operand : inner.operands) {
    types.push_back(operand < op.inputs.size() ? program.tensors[op.inputs[operand]].type.dtype
                                               : expansion.types[operand - op.inputs.size()].dtype);
  }
  return types;
}

bool reads_one_element(const Program& program, const Op& op, uint32_t operand) {
  return operand < op.inputs.size() && program.tensors[op.inputs[operand]].type.elements() == 1;
}

// Kernels take a single element only where a second operand has the row's length.
bool fits_kernel(const Program& program, const Op& op, const InnerOp& inner) {
  if (inner.kind == OpKind::kWhere) return true;
  if (inner.kind == OpKind::kQuantizeLinear || inner.kind == OpKind::kDequantizeLinear ||
      inner.operands.size() == 1) {
    return !reads_one_element(program, op, inner.operands[0]);
  }
  return !std::all_of(inner.operands.begin(), inner.operands.end(),
                      [&](uint32_t operand) { return reads_one_element(program, op, operand); });
}

// Slots are handed out again after the last step that reads them.
void place_results(Body& body, const Expansion& expansion, size_t inputs) {
  std::vector<size_t> last(body.steps.size(), 0);
  for (size_t s = 0; s < body.steps.size(); ++s) {
    for (const uint32_t operand : body.steps[s].operands) {
      if (operand >= inputs) last[operand - inputs] = s;
    }
  }
  std::vector<size_t> free;
  for (size_t s = 0; s < body.steps.size(); ++s) {
    Place& place = body.places[s];
    place.element = size_of(stored_dtype(expansion.types[s].dtype));
    if (place.output == kNoValue) {
      if (free.empty()) free.push_back(body.slots++);
      place.slot = free.back();
      free.pop_back();
    }
    for (size_t t = 0; t <= s; ++t) {
      if (body.places[t].output == kNoValue && last[t] == s) free.push_back(body.places[t].slot);
    }
  }
}

// The first output may lie where an input was that nobody reads after that output is written.
std::vector<ValueId> in_place_of(const Body& body, const Expansion& expansion,
                                 const Operands& operands) {
  std::vector<ValueId> values;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const ValueId value = body.inputs[i].value;
    const auto named = std::find(operands.in_place.begin(), operands.in_place.end(), value);
    if (named == operands.in_place.end() || body.inputs[i].reading != Reading::kDense) continue;
    bool read_later = false;
    for (size_t s = expansion.results[0] + 1; s < body.steps.size(); ++s) {
      for (const uint32_t operand : body.steps[s].operands) {
        read_later =
            read_later || (operand < body.inputs.size() && body.inputs[operand].value == value);
      }
    }
    if (!read_later) values.push_back(value);
  }
  return values;
}

}  // namespace

bool keeps_region(const Program& program, const Op& op) {
  if (program.tensors[op.outputs[0]].type.elements() == 0) return false;
  for (const TensorId id : op.inputs) {
    if (program.tensors[id].type.shape.size() > program.tensors[op.outputs[0]].type.shape.size()) {
      return false;
    }
  }
  const Expansion expansion = expansion_of(program, op);
  for (size_t i = 0; i < expansion.ops.size(); ++i) {
    Activation unused;
    const InnerOp& inner = expansion.ops[i];
    const auto types = operand_types(program, op, expansion, inner);
    if (block_kernel(inner, types, expansion.types[i].dtype, unused) == nullptr) return false;
    if (!fits_kernel(program, op, inner)) return false;
  }
  return true;
}

Result<bool> lower_region(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kPointwise) return false;
  const Program& program = lowering.program();
  const Expansion expansion = expansion_of(program, op);
  const Operands operands = operands_of(lowering, op);
  std::vector<ValueId> outputs = {operands.out};
  for (size_t i = 1; i < op.outputs.size(); ++i) {
    outputs.push_back(lowering.define(op.outputs[i], operands.layout));
  }
  Body body;
  const Shape& shape = lowering.shape(op.outputs[0]);
  body.elements = lowering.type(op.outputs[0]).elements();
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    body.inputs.push_back(input_of(lowering, op.inputs[i], operands, i, shape));
  }
  body.block = block_length(body.inputs);
  body.input_slots.assign(body.inputs.size(), 0);
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const Reading reading = body.inputs[i].reading;
    if (reading == Reading::kPattern || reading == Reading::kGather) {
      body.input_slots[i] = body.slots++;
    }
  }
  for (size_t i = 0; i < expansion.ops.size(); ++i) {
    const InnerOp& inner = expansion.ops[i];
    BodyStep step;
    step.operands = inner.operands;
    step.kernel = block_kernel(inner, operand_types(program, op, expansion, inner),
                               expansion.types[i].dtype, step.activation);
    body.steps.push_back(std::move(step));
  }
  body.places.resize(body.steps.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    body.places[expansion.results[i]].output = outputs[i];
  }
  place_results(body, expansion, op.inputs.size());
  body.scratch = lowering.temporary(body.slots * body.slot_bytes() * lowering.members());
  Lowering::StepOptions options;
  options.parallel = body.elements * static_cast<int64_t>(body.steps.size()) >= kWorthSharing;
  options.in_place = in_place_of(body, expansion, operands);
  std::vector<ValueId> writes = outputs;
  writes.push_back(body.scratch);
  const std::string how = "own: " + std::to_string(body.steps.size()) + " pointwise in blocks";
  lowering.add(std::make_unique<RegionStep>(std::move(body)), how, operands.values,
               std::move(writes), std::move(options));
  return true;
}

}  // namespace modeld::cpu
