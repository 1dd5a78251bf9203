// Warp: the sampling rule of warp/README.md, bit for bit. One work-item per output byte.
#include "runtime/device/warp_spec.h"
#include "runtime/opencl/lowering.h"

namespace modeld::opencl {
namespace {

// Every operation is rounded once and in this order: no contraction, and a division that is
// correctly rounded whatever the device offers (m_divide).
constexpr const char* kSample = R"CL(
#pragma OPENCL FP_CONTRACT OFF
const float x = (float)px, y = (float)py;
const float xx = m0 * x, xy = m1 * y, yx = m3 * x, yy = m4 * y, wx = m6 * x, wy = m7 * y;
const float xs = xx + xy, ys = yx + yy, ws = wx + wy;
const float xn = xs + m2, yn = ys + m5, w = ws + m8;
const float sx = rint(m_divide(xn, w));
const float sy = rint(m_divide(yn, w));
uchar v = 0;
if (!isnan(sx) && !isnan(sy)) {
  const float mx = (float)(width - 1), my = (float)(height - 1);
  if (@fill@ && !(sx >= 0.0f && sx <= mx && sy >= 0.0f && sy <= my)) {
    v = @value@;
  } else {
    const int column = (int)clamp(sx, 0.0f, mx);
    const int row = (int)clamp(sy, 0.0f, my);
    v = @frame@[base + (@idx@)row * (@idx@)@stride@ + (@idx@)column * step];
  }
}
@out@[e] = v;
)CL";

// The other filter: 32nds of a pixel, whole numbers from there on.
constexpr const char* kBilinear = R"CL(
#pragma OPENCL FP_CONTRACT OFF
const float x = (float)px, y = (float)py;
const float xx = m0 * x, xy = m1 * y, yx = m3 * x, yy = m4 * y, wx = m6 * x, wy = m7 * y;
const float xs = xx + xy, ys = yx + yy, ws = wx + wy;
const float xn = xs + m2, yn = ys + m5, w = ws + m8;
const float scale = w != 0.0f ? m_divide(32.0f, w) : 0.0f;
const float sx = rint(xn * scale);
const float sy = rint(yn * scale);
uchar v = 0;
if (!isnan(sx) && !isnan(sy)) {
  const int mx = width - 1, my = height - 1;
  const int ix = (int)clamp(sx, -64.0f, (float)(width + 1) * 32.0f);
  const int iy = (int)clamp(sy, -64.0f, (float)(height + 1) * 32.0f);
  const @idx@ left = (@idx@)clamp(ix >> 5, 0, mx) * step;
  const @idx@ right = (@idx@)clamp((ix >> 5) + 1, 0, mx) * step;
  const @idx@ above = base + (@idx@)clamp(iy >> 5, 0, my) * (@idx@)@stride@;
  const @idx@ below = base + (@idx@)clamp((iy >> 5) + 1, 0, my) * (@idx@)@stride@;
  const int ax = ix & 31, ay = iy & 31;
  const int high = (32 - ax) * @frame@[above + left] + ax * @frame@[above + right];
  const int low = (32 - ax) * @frame@[below + left] + ax * @frame@[below + right];
  v = (uchar)(((32 - ay) * high + ay * low + 512) >> 10);
}
@out@[e] = v;
)CL";

std::string number(uint64_t value) {
  return std::to_string(value);
}

// Which plane, output pixel and matrix an element of the six planes has. The chroma matrix is
// S M S^-1 with S = diag(1/2, 1/2, 1): exact scalings by powers of two.
std::string planes_prologue(const WarpSpec& spec, const Nv12Layout& layout,
                            const std::string& uv_offset) {
  return fill(R"CL(
const int plane = e / @size@;
const int in = e % @size@;
const int column_out = in % @half@, row_out = in / @half@;
int px = 2 * column_out + plane / 2, py = 2 * row_out + plane % 2;
int width = @width@, height = @height@, step = 1;
@idx@ base = 0;
if (plane >= 4) {
  px = column_out; py = row_out; width = @width@ / 2; height = @height@ / 2; step = 2;
  base = (@idx@)@uv@ + (plane - 4);
  m2 *= 0.5f; m5 *= 0.5f; m6 *= 2.0f; m7 *= 2.0f;
}
)CL",
              {{"size", number(spec.out_width / 2 * (spec.out_height / 2))},
               {"half", number(spec.out_width / 2)},
               {"width", number(spec.width)},
               {"height", number(spec.height)},
               {"idx", layout.length < (uint64_t{1} << 31) ? "int" : "long"},
               {"uv", uv_offset}});
}

std::string luma_prologue(const WarpSpec& spec, const Nv12Layout& layout) {
  return fill(R"CL(
const int px = e % @out_width@, py = e / @out_width@;
const int width = @width@, height = @height@, step = 1;
const @idx@ base = 0;
)CL",
              {{"out_width", number(spec.out_width)},
               {"width", number(spec.width)},
               {"height", number(spec.height)},
               {"idx", layout.length < (uint64_t{1} << 31) ? "int" : "long"}});
}

}  // namespace

Result<bool> lower_warp(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kWarp) return false;
  const Nv12Layout& layout = lowering.frame_layout(op.inputs[0]);
  const WarpSpec spec = warp_spec_of(op.attributes, layout);
  MODELD_TRY(check_warp(spec, layout));
  const View matrix = lowering.dense(op.inputs[1], Layout::kPlain);
  const View frame = lowering.view(op.inputs[0]);
  const View to = lowering.define(op.outputs[0], Layout::kPlain);
  KernelWriter writer;
  const std::string out = writer.output(to);
  const std::string from = writer.input(frame);
  const std::string m = writer.input(matrix);
  writer << "const int e = (int)get_global_id(0);\nif (e >= " << number(spec.output_bytes())
         << ") return;\n";
  for (int i = 0; i < 9; ++i) {
    writer << "float m" << std::to_string(i) << " = " << m << "[" << std::to_string(i) << "];\n";
  }
  // Where rows lie is an argument, so that another camera's buffers need no other kernel.
  if (spec.output == WarpOutput::kLuma) {
    writer << luma_prologue(spec, layout);
  } else {
    writer << planes_prologue(spec, layout, writer.number(static_cast<int64_t>(layout.uv_offset)));
  }
  writer << "{"
         << fill(spec.filter == WarpFilter::kBilinear ? kBilinear : kSample,
                 {{"fill", spec.border_fill ? "1" : "0"},
                  {"value", number(spec.border_fill.value_or(0))},
                  {"frame", from},
                  {"idx", layout.length < (uint64_t{1} << 31) ? "int" : "long"},
                  {"stride", number(layout.stride)},
                  {"out", out}})
         << "}\n";
  Launch launch = std::move(writer).finish();
  const size_t group = 64;
  launch.local[0] = group;
  launch.global[0] = (spec.output_bytes() + group - 1) / group * group;
  lowering.add(std::move(launch), "warp");
  return true;
}

}  // namespace modeld::opencl
