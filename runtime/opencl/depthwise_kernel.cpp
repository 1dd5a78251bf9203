#include "runtime/opencl/depthwise_kernel.h"

#include <algorithm>

#include "runtime/opencl/expressions.h"

namespace modeld::opencl {
namespace {

constexpr int64_t kPositions = 4;  // neighbours along a row

std::string text(int64_t value) {
  return "(" + std::to_string(value) + ")";
}

std::string name(const char* prefix, int64_t i) {
  return prefix + std::to_string(i);
}

}  // namespace

Launch depthwise_kernel(Lowering& lowering, const TileSpec& spec) {
  const Traits& traits = lowering.traits();
  const int64_t channels = spec.groups;
  uint32_t width = traits.vector;
  while (width > 4 && width > channels) width /= 2;
  if (width > channels) width = 1;
  const TileAxis& x = spec.columns;
  const TileAxis& y = spec.rows;
  const int64_t positions = std::min(kPositions, x.positions);
  const int64_t blocks = (x.positions + positions - 1) / positions;
  const int64_t per_item = traits.group == 1 ? blocks : 1;  // a processor takes whole rows
  const int64_t items = (blocks + per_item - 1) / per_item;
  const int64_t lanes = (channels + width - 1) / width;
  const std::string type = type_name(Compute::kFloat, width);
  // Input columns a block reads, from its first position's first tap.
  const int64_t span = (positions - 1) * x.step + (x.taps - 1) * x.tap_step + 1;

  KernelWriter w;
  w.flush_subnormals();
  const std::string out = w.output(spec.out);
  const std::string in = w.input(spec.in);
  const std::string weights = w.input(spec.weights);
  const std::string residual = spec.residual ? w.input(*spec.residual) : "";
  w << fill(R"CL(const int lane = (int)get_global_id(0);
if (lane >= @lanes@) return;
const int c = min(lane * @width@, @last@);
const int row = (int)get_global_id(1);
const int y = row % @rows@ * @step_y@ + @first_y@, b = row / @rows@;
const int item = (int)get_global_id(2);
)CL",
            {{"lanes", std::to_string(lanes)},
             {"width", std::to_string(width)},
             {"last", std::to_string(channels - width)},
             {"rows", std::to_string(y.positions)},
             {"step_y", text(y.step)},
             {"first_y", text(y.first)}});
  if (spec.bias) {
    w << "const " << type
      << " bias = " << load(spec.bias->dtype, w.input(*spec.bias), "c", Compute::kFloat, width)
      << ";\n";
  }
  w << fill(
      R"CL(for (int block = item * @per@; block < min((item + 1) * @per@, @blocks@); ++block) {
const int px = min(block * @positions@, @last@);
const int x = px * @step_x@ + @first_x@;
const int inside = x >= 0 && x + @reach@ < @extent@;
)CL",
      {{"per", std::to_string(per_item)},
       {"blocks", std::to_string(blocks)},
       {"positions", std::to_string(positions)},
       {"last", std::to_string(x.positions - positions)},
       {"step_x", text(x.step)},
       {"first_x", text(x.first)},
       {"reach", text(span - 1)},
       {"extent", std::to_string(x.extent)}});
  for (int64_t i = 0; i < positions; ++i) {
    w << type << " " << name("s", i) << " = " << (spec.bias ? "bias" : "0") << ";\n";
  }
  w << fill(R"CL(for (int ty = 0; ty < @taps@; ++ty) {
const int iy = y + ty * @tap@;
if (iy < 0 || iy >= @extent@) continue;
const int from = b * @batch@ + iy * @row@ + x * @column@ + c;
)CL",
            {{"taps", std::to_string(y.taps)},
             {"tap", text(y.tap_step)},
             {"extent", std::to_string(y.extent)},
             {"batch", text(spec.in_batch)},
             {"row", text(spec.in_row)},
             {"column", text(spec.in_column)}});
  // Only the columns some tap of some position meets.
  std::vector<bool> met(static_cast<size_t>(span), false);
  for (int64_t i = 0; i < positions; ++i) {
    for (int64_t tx = 0; tx < x.taps; ++tx) {
      met[static_cast<size_t>(i * x.step + tx * x.tap_step)] = true;
    }
  }
  std::string checked;
  std::string unchecked;
  for (int64_t k = 0; k < span; ++k) {
    if (!met[static_cast<size_t>(k)]) continue;
    const std::string value =
        load(spec.in.dtype, in, "from + " + text(k * spec.in_column), Compute::kFloat, width);
    w << type << " " << name("x", k) << ";\n";
    unchecked += name("x", k) + " = " + value + ";\n";
    checked += name("x", k) + " = 0;\nif (x + " + text(k) + " >= 0 && x + " + text(k) + " < " +
               std::to_string(x.extent) + ") " + name("x", k) + " = " + value + ";\n";
  }
  w << "if (inside) {\n" << unchecked << "} else {\n" << checked << "}\n";
  for (int64_t tx = 0; tx < x.taps; ++tx) {
    w << "{ const " << type << " k = "
      << load(spec.weights.dtype, weights,
              "(ty * " + std::to_string(x.taps) + " + " + std::to_string(tx) + ") * " +
                  std::to_string(channels) + " + c",
              Compute::kFloat, width)
      << ";\n";
    for (int64_t i = 0; i < positions; ++i) {
      w << name("s", i) << " = fma(" << name("x", i * x.step + tx * x.tap_step) << ", k, "
        << name("s", i) << ");\n";
    }
    w << "}\n";
  }
  w << "}\n";
  for (int64_t i = 0; i < positions; ++i) {
    const std::string at = "b * " + text(spec.out_batch) + " + row % " +
                           std::to_string(y.positions) + " * " + text(spec.out_row) + " + (px + " +
                           std::to_string(i) + ") * " + text(spec.out_column) + " + c";
    if (spec.residual) {
      w << name("s", i)
        << " += " << load(spec.residual->dtype, residual, at, Compute::kFloat, width) << ";\n";
    }
    const std::string value =
        activation_expression(*spec.attributes, name("s", i), Compute::kFloat, width);
    w << store(spec.out.dtype, out, at, value, Compute::kFloat, width) << "\n";
  }
  w << "}\n";
  Launch launch = std::move(w).finish();
  const auto group = static_cast<size_t>(std::min<int64_t>(traits.group, lanes));
  launch.local[0] = group;
  launch.global = {(static_cast<size_t>(lanes) + group - 1) / group * group,
                   static_cast<size_t>(spec.batch * y.positions), static_cast<size_t>(items)};
  return launch;
}

}  // namespace modeld::opencl
