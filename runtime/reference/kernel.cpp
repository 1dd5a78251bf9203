#include "runtime/reference/kernel.h"

namespace modeld::reference {
namespace {

Error unsupported(const KernelSpec& spec, std::string want, std::string have) {
  return Error(ErrorCode::kUnsupported, "reference: " + std::string(to_string(spec.kind)))
      .expecting(std::move(want), std::move(have));
}

Status check_rank(const KernelSpec& spec, const TensorType& type) {
  if (type.shape.size() <= kMaxRank) return {};
  return unsupported(spec, "rank at most " + std::to_string(kMaxRank), to_string(type));
}

}  // namespace

Result<KernelPointer> make_kernel(const KernelSpec& spec) {
  using enum OpKind;
  for (const TensorType* type : spec.inputs) {
    if (type != nullptr) MODELD_TRY(check_rank(spec, *type));
  }
  for (const TensorType& type : spec.outputs) MODELD_TRY(check_rank(spec, type));
  if (spec.kind == kWarp) return unsupported(spec, "an op without a frame", "Warp");
  if (spec.kind == kConv) return make_convolution_kernel(spec);
  if (spec.kind == kConvInteger) return make_integer_convolution_kernel(spec);
  if (spec.kind == kConvTranspose) return make_transposed_convolution_kernel(spec);
  if (spec.kind <= kMatMul) return make_product_kernel(spec);
  if (spec.kind == kMatMulInteger) return make_integer_product_kernel(spec);
  if (spec.kind <= kRnn) return make_recurrent_kernel(spec);
  if (spec.kind <= kTanh) return make_unary_kernel(spec);
  if (spec.kind == kWhere) return make_where_kernel(spec);
  if (spec.kind <= kSub) return make_binary_kernel(spec);
  if (spec.kind <= kSoftmax) return make_normalisation_kernel(spec);
  if (spec.kind == kCumSum) return make_cumulative_sum_kernel(spec);
  if (spec.kind <= kReduceSumSquare) return make_reduction_kernel(spec);
  if (spec.kind <= kArgMin) return make_arg_kernel(spec);
  if (spec.kind <= kMaxPool) return make_pool_kernel(spec);
  if (spec.kind == kResize) return make_resize_kernel(spec);
  if (spec.kind <= kQuantizeLinear) return make_quantisation_kernel(spec);
  if (spec.kind == kTopK || spec.kind == kNonMaxSuppression) return make_selection_kernel(spec);
  if (spec.kind <= kTopK) return make_index_kernel(spec);
  return make_move_kernel(spec);
}

}  // namespace modeld::reference
