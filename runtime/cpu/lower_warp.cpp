// Warp: the sampler of warp/, its rows shared out.
#include <cstring>

#include "runtime/cpu/lowering.h"
#include "runtime/device/warp_spec.h"

namespace modeld::cpu {

Result<bool> lower_warp(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kWarp) return false;
  const Nv12Layout layout = lowering.frame_layout(op.inputs[0]);
  const WarpSpec spec = warp_spec_of(op.attributes, layout);
  MODELD_TRY(check_warp(spec, layout));
  const ValueId frame = lowering.value(op.inputs[0], Layout::kPlain);
  const ValueId matrix = lowering.value(op.inputs[1], Layout::kPlain);
  const ValueId out = lowering.define(op.outputs[0], Layout::kPlain);
  const std::string_view kernel = spec.filter == WarpFilter::kBilinear
                                      ? "bilinear"
                                      : to_string(available_warp_kernels().back());
  Lowering::StepOptions options;
  options.parallel = true;
  lowering.add(
      step_of([=](const RunContext& context) {
        Matrix3f transform;
        std::memcpy(transform.m.data(), context.at<std::byte>(matrix), sizeof(transform.m));
        const Share rows = share_of(spec.row_units(), context.part, context.parts);
        warp_rows(spec, layout, context.at<uint8_t>(frame), transform, context.at<uint8_t>(out),
                  static_cast<uint32_t>(rows.begin), static_cast<uint32_t>(rows.end - rows.begin));
      }),
      "own: warp " + std::string(kernel), {frame, matrix}, {out}, std::move(options));
  return true;
}

}  // namespace modeld::cpu
