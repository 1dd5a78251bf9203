// Everything no other family took: the reference kernels, on plain values, by one thread.
#include <array>

#include "runtime/cpu/lowering.h"
#include "runtime/reference/kernel.h"

namespace modeld::cpu {
namespace {

class ReferenceStep final : public Step {
 public:
  ReferenceStep(reference::KernelPointer kernel, std::vector<ValueId> inputs,
                std::vector<ValueId> outputs)
      : kernel_(std::move(kernel)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    input_addresses_.resize(inputs_.size());
    output_addresses_.resize(outputs_.size());
  }

  void run(const RunContext& context) override {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      input_addresses_[i] = inputs_[i] == kNoValue ? nullptr : context.at<std::byte>(inputs_[i]);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      output_addresses_[i] = context.at<std::byte>(outputs_[i]);
    }
    reference::Flags flags;
    kernel_->run({input_addresses_, output_addresses_, flags});
    context.state.index_out_of_range += flags.index_out_of_range;
    context.state.integer_division_by_zero += flags.integer_division_by_zero;
  }

 private:
  reference::KernelPointer kernel_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<const std::byte*> input_addresses_;
  std::vector<std::byte*> output_addresses_;
};

TensorType stored_type(const Lowering& lowering, TensorId tensor) {
  return {lowering.stored(tensor), lowering.shape(tensor)};
}

}  // namespace

Result<bool> lower_by_reference(Lowering& lowering) {
  const Op& op = lowering.op();
  std::vector<ValueId> inputs;
  std::vector<ValueId> reads;
  std::vector<TensorType> input_types(op.inputs.size());
  std::vector<const TensorType*> type_pointers;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    inputs.push_back(id == kNoTensor ? kNoValue : lowering.value(id, Layout::kPlain));
    if (id == kNoTensor) {
      type_pointers.push_back(nullptr);
      continue;
    }
    reads.push_back(inputs.back());
    input_types[i] = stored_type(lowering, id);
    type_pointers.push_back(&input_types[i]);
  }
  std::vector<TensorType> output_types;
  std::vector<ValueId> outputs;
  for (const TensorId id : op.outputs) {
    output_types.push_back(stored_type(lowering, id));
    outputs.push_back(lowering.define(id, Layout::kPlain));
  }
  MODELD_ASSIGN(reference::KernelPointer kernel,
                reference::make_kernel({op.kind, op.attributes, type_pointers, output_types}));
  lowering.add(std::make_unique<ReferenceStep>(std::move(kernel), inputs, outputs),
               "reference loop", std::move(reads), outputs);
  return true;
}

}  // namespace modeld::cpu
