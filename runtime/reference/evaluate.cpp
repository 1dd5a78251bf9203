#include "runtime/reference/evaluate.h"

#include <new>
#include <string>

#include "runtime/program/expand.h"
#include "runtime/program/infer.h"
#include "runtime/reference/kernel.h"

namespace modeld {
namespace {

constexpr uint64_t kMaxResultBytes = uint64_t{4} << 30;

std::string name_of(const Op& op) {
  return std::string(to_string(op.kind)) + " '" + op.name + "'";
}

Status check_bytes(const HostTensor& tensor, size_t input) {
  if (tensor.bytes.size() == tensor.type.bytes()) return {};
  return Error(ErrorCode::kInvalidArgument, "bytes of input " + std::to_string(input))
      .expecting(std::to_string(tensor.type.bytes()), std::to_string(tensor.bytes.size()));
}

Status check_flags(const reference::Flags& flags) {
  if (flags.index_out_of_range > 0) {
    return Error(ErrorCode::kRefused, "index out of range")
        .expecting("indices inside the gathered axis",
                   std::to_string(flags.index_out_of_range) + " outside");
  }
  if (flags.integer_division_by_zero > 0) {
    return Error(ErrorCode::kRefused, "integer division by zero")
        .expecting("divisors other than 0",
                   std::to_string(flags.integer_division_by_zero) + " of 0");
  }
  return {};
}

Result<std::vector<HostTensor>> allocate(std::vector<TensorType> types) {
  std::vector<HostTensor> results;
  for (TensorType& type : types) {
    const uint64_t bytes = type.bytes();
    if (bytes > kMaxResultBytes) {
      return Error(ErrorCode::kExhausted, "result too large")
          .expecting("at most " + std::to_string(kMaxResultBytes) + " bytes", to_string(type));
    }
    results.push_back({std::move(type), std::vector<std::byte>(bytes)});
  }
  return results;
}

Result<std::vector<HostTensor>> run(const Op& op, std::span<const HostTensor* const> inputs);

// A compound op: its expansion, op by op.
Result<std::vector<HostTensor>> run_expansion(const Op& op,
                                              std::span<const TensorType* const> types,
                                              std::span<const HostTensor* const> inputs) {
  MODELD_ASSIGN(const Expansion expansion, expansion_of(op.kind, op.attributes, types));
  std::vector<HostTensor> made(expansion.ops.size());
  for (size_t i = 0; i < made.size(); ++i) {
    Op inner;
    inner.kind = expansion.ops[i].kind;
    inner.attributes = expansion.ops[i].attributes;
    std::vector<const HostTensor*> operands;
    for (const uint32_t operand : expansion.ops[i].operands) {
      operands.push_back(operand == kNoTensor      ? nullptr
                         : operand < inputs.size() ? inputs[operand]
                                                   : &made[operand - inputs.size()]);
    }
    MODELD_ASSIGN(std::vector<HostTensor> results, run(inner, operands));
    made[i] = std::move(results[0]);
  }
  std::vector<HostTensor> outputs;
  for (const uint32_t result : expansion.results) outputs.push_back(std::move(made[result]));
  return outputs;
}

Result<std::vector<HostTensor>> run(const Op& op, std::span<const HostTensor* const> inputs) {
  std::vector<const TensorType*> types;
  std::vector<const std::byte*> in;
  for (const HostTensor* input : inputs) {
    types.push_back(input == nullptr ? nullptr : &input->type);
    in.push_back(input == nullptr ? nullptr : input->bytes.data());
  }
  MODELD_ASSIGN(std::vector<TensorType> inferred, infer_types(op.kind, op.attributes, types));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) MODELD_TRY(check_bytes(*inputs[i], i));
  }
  if (is_compound(op.kind)) return run_expansion(op, types, inputs);
  MODELD_ASSIGN(std::vector<HostTensor> results, allocate(inferred));
  const reference::KernelSpec spec{op.kind, op.attributes, types, inferred};
  MODELD_ASSIGN(const reference::KernelPointer kernel, reference::make_kernel(spec));
  std::vector<std::byte*> out;
  for (HostTensor& result : results) out.push_back(result.bytes.data());
  reference::Flags flags;
  kernel->run({in, out, flags});
  MODELD_TRY(check_flags(flags));
  return results;
}

}  // namespace

Result<std::vector<HostTensor>> evaluate(const Op& op, std::span<const HostTensor* const> inputs) {
  try {
    auto results = run(op, inputs);
    if (!results.ok()) return std::move(results).error().in(name_of(op));
    return results;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "out of memory").in(name_of(op));
  }
}

}  // namespace modeld
