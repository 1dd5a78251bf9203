#include <array>

#include "tools/compile/passes/common_subexpressions.h"
#include "tools/compile/passes/dead_code.h"
#include "tools/compile/passes/fold_batch_norm.h"
#include "tools/compile/passes/fold_quantised.h"
#include "tools/compile/passes/fold_scale.h"
#include "tools/compile/passes/form_regions.h"
#include "tools/compile/passes/fuse_activation.h"
#include "tools/compile/passes/fuse_bias.h"
#include "tools/compile/passes/fuse_residual.h"
#include "tools/compile/passes/matmul_to_gemm.h"
#include "tools/compile/passes/merge_moves.h"
#include "tools/compile/passes/pass.h"
#include "tools/compile/passes/permute_weights.h"
#include "tools/compile/passes/recognise_activations.h"
#include "tools/compile/passes/recognise_attention.h"
#include "tools/compile/passes/recognise_layer_norm.h"
#include "tools/compile/passes/recognise_rms_norm.h"
#include "tools/compile/passes/recognise_softmax.h"
#include "tools/compile/passes/remove_noops.h"
#include "tools/compile/passes/scale_attention.h"
#include "tools/compile/passes/sink_moves.h"

namespace modeld::compile {

std::span<const Pass> default_passes() {
  static constexpr auto kPasses = std::to_array<Pass>({
      {"dead-code", remove_dead_code},
      {"noops", remove_noops},
      {"common-subexpressions", merge_common_subexpressions},
      {"quantised-moves", sink_dequantise},
      {"quantised-products", fold_quantised_products},
      {"dead-code", remove_dead_code},
      {"recognise-activations", recognise_activations},
      {"recognise-layer-norm", recognise_layer_norm},
      {"recognise-rms-norm", recognise_rms_norm},
      {"recognise-softmax", recognise_softmax},
      {"recognise-attention", recognise_attention},
      {"dead-code", remove_dead_code},
      {"scale-attention", scale_attention},
      {"merge-moves", merge_moves},
      {"sink-moves", sink_moves},
      {"merge-moves", merge_moves},
      {"noops", remove_noops},
      {"dead-code", remove_dead_code},
      {"permute-weights", permute_weights},
      {"matmul-to-gemm", matmul_to_gemm},
      {"fuse-bias", fuse_bias},
      {"fold-batch-norm", fold_batch_norm},
      {"fold-scale", fold_scale},
      {"fuse-bias", fuse_bias},
      {"fuse-residual", fuse_residual},
      {"fuse-activation", fuse_activation},
      {"dead-code", remove_dead_code},
  });
  return kPasses;
}

std::span<const Pass> last_passes() {
  static constexpr auto kPasses = std::to_array<Pass>({{"pointwise-regions", form_regions}});
  return kPasses;
}

}  // namespace modeld::compile
