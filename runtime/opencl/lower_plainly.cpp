// What the tuned families do not take ends here.
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {
namespace {

// Null for kinds that other families take whole.
void (*plain_form(OpKind kind))(Lowering&) {
  switch (kind) {
    case OpKind::kConv:
    case OpKind::kConvTranspose:
      return plain_convolution;
    case OpKind::kConvInteger:
      return plain_integer_convolution;
    case OpKind::kGemm:
    case OpKind::kMatMul:
      return plain_product;
    case OpKind::kMatMulInteger:
      return plain_integer_product;
    case OpKind::kGru:
    case OpKind::kLstm:
    case OpKind::kRnn:
      return plain_recurrent;
    case OpKind::kAveragePool:
    case OpKind::kMaxPool:
      return plain_pool;
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceMax:
    case OpKind::kReduceMean:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:
      return plain_reduction;
    case OpKind::kReduceLogSumExp:
      return plain_log_sum_exp;
    case OpKind::kCumSum:
      return plain_cumulative_sum;
    case OpKind::kArgMax:
    case OpKind::kArgMin:
      return plain_arg;
    case OpKind::kLogSoftmax:
    case OpKind::kSoftmax:
      return plain_softmax;
    case OpKind::kLayerNormalization:
    case OpKind::kRmsNormalization:
      return plain_layer_norm;
    case OpKind::kResize:
      return plain_resize;
    case OpKind::kDequantizeLinear:
      return plain_dequantize;
    case OpKind::kGatherElements:
      return plain_gather_elements;
    case OpKind::kGatherNd:
      return plain_gather_nd;
    case OpKind::kScatterElements:
      return plain_scatter_elements;
    case OpKind::kScatterNd:
      return plain_scatter_nd;
    case OpKind::kTopK:
      return plain_top_k;
    case OpKind::kNonMaxSuppression:
      return plain_non_max_suppression;
    default:
      return nullptr;
  }
}

}  // namespace

Result<bool> lower_plainly(Lowering& lowering) {
  if (lowering.op().kind == OpKind::kQuantizeLinear) {
    MODELD_TRY(plain_quantize(lowering));
    return true;
  }
  auto* const form = plain_form(lowering.op().kind);
  if (form == nullptr) return false;
  form(lowering);
  return true;
}

}  // namespace modeld::opencl
