// Warp: the sampler of warp/, its rows shared out.
#include <cstring>

#include "runtime/cpu/lowering.h"
#include "warp/sampler.h"

namespace modeld::cpu {

Result<bool> lower_warp(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kWarp) return false;
  const Nv12Layout layout = lowering.frame_layout(op.inputs[0]);
  WarpSpec spec;
  spec.width = layout.width;
  spec.height = layout.height;
  spec.out_width = static_cast<uint32_t>(op.attributes.get_int("out_width"));
  spec.out_height = static_cast<uint32_t>(op.attributes.get_int("out_height"));
  spec.output =
      op.attributes.get_string("layout") == "luma" ? WarpOutput::kLuma : WarpOutput::kYuv420Planes;
  if (op.attributes.has("border_fill")) {
    spec.border_fill = static_cast<uint8_t>(op.attributes.get_int("border_fill"));
  }
  MODELD_TRY(check_warp(spec, layout));
  const ValueId frame = lowering.value(op.inputs[0], Layout::kPlain);
  const ValueId matrix = lowering.value(op.inputs[1], Layout::kPlain);
  const ValueId out = lowering.define(op.outputs[0], Layout::kPlain);
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
      "own: warp " + std::string(to_string(available_warp_kernels().back())), {frame, matrix},
      {out}, std::move(options));
  return true;
}

}  // namespace modeld::cpu
