#include "runtime/opencl/tile_kernel.h"

#include <algorithm>

#include "runtime/opencl/expressions.h"

namespace modeld::opencl {
namespace {

// Multiply-accumulates a work-item of a processor should have, so that starting it is cheap.
constexpr int64_t kWorkWanted = 200'000;
constexpr int64_t kItemsWanted = 16;

std::string text(int64_t value) {
  return "(" + std::to_string(value) + ")";
}

std::string plain(int64_t value) {
  return std::to_string(value);
}

class Writer {
 public:
  Writer(Lowering& lowering, const TileSpec& spec, const TileShape& shape)
      : spec_(spec), shape_(shape), traits_(lowering.traits()), lowering_(lowering) {}

  Launch write();

 private:
  uint32_t positions() const { return shape_.positions; }
  bool is_checked() const { return !spec_.rows.always_inside() || !spec_.columns.always_inside(); }
  // Output positions and input positions are the same walk: one multiplication finds both.
  bool is_linear() const {
    return spec_.rows.taps == 1 && spec_.columns.taps == 1 && !is_checked() &&
           spec_.rows.step == 1 && spec_.columns.step == 1 && spec_.rows.first == 0 &&
           spec_.columns.first == 0 && spec_.columns.positions == spec_.columns.extent &&
           (spec_.rows.positions == 1 ||
            (spec_.rows.positions == spec_.rows.extent &&
             spec_.in_row == spec_.columns.positions * spec_.in_column &&
             spec_.out_row == spec_.columns.positions * spec_.out_column)) &&
           (spec_.batch == 1 || !spec_.packed ||
            (spec_.in_batch == spec_.rows.positions * spec_.columns.positions * spec_.in_column &&
             spec_.out_batch == spec_.rows.positions * spec_.columns.positions * spec_.out_column));
  }
  // A computed right side has its own matrix per batch: the batch is a dimension of the launch.
  int64_t positions_per_launch() const {
    return (spec_.packed ? spec_.batch : 1) * spec_.rows.positions * spec_.columns.positions;
  }

  void open_positions();
  void accumulate(const std::string& tap_open, bool checked);
  void multiply(const std::string& weights_step);
  void taps(bool checked);
  void finish();
  std::string vector_type() const { return type_name(Compute::kFloat, shape_.width); }
  std::string sum(uint32_t i, uint32_t j) const {
    return "s" + std::to_string(i) + "_" + std::to_string(j);
  }

  const TileSpec& spec_;
  const TileShape& shape_;
  const Traits& traits_;
  Lowering& lowering_;
  KernelWriter w_;
  std::string in_, out_, weights_, zeros_;
};

// Coordinates, input offset and output offset of each position of the tile.
void Writer::open_positions() {
  const int64_t count = positions_per_launch();
  w_ << "const int m0 = min(block * " << plain(positions()) << ", " << plain(count - positions())
     << ");\n";
  for (uint32_t i = 0; i < positions(); ++i) {
    const std::string n = std::to_string(i);
    if (is_linear()) {
      w_ << fill("const int f@i@ = (m0 + @i@) * @in@, t@i@ = (m0 + @i@) * @out@;\n",
                 {{"i", n}, {"in", text(spec_.in_column)}, {"out", text(spec_.out_column)}});
      continue;
    }
    w_ << fill(R"CL(
const int x@i@ = (m0 + @i@) % @columns@ * @step_x@ + @first_x@;
const int y@i@ = (m0 + @i@) / @columns@ % @rows@ * @step_y@ + @first_y@;
const int f@i@ = (m0 + @i@) / @plane@ * @in_batch@ + y@i@ * @in_row@ + x@i@ * @in_column@;
const int t@i@ = (m0 + @i@) / @plane@ * @out_batch@ + (m0 + @i@) / @columns@ % @rows@ * @out_row@ + (m0 + @i@) % @columns@ * @out_column@;
)CL",
               {{"i", n},
                {"columns", plain(spec_.columns.positions)},
                {"rows", plain(spec_.rows.positions)},
                {"plane", plain(spec_.rows.positions * spec_.columns.positions)},
                {"step_x", text(spec_.columns.step)},
                {"step_y", text(spec_.rows.step)},
                {"first_x", text(spec_.columns.first)},
                {"first_y", text(spec_.rows.first)},
                {"in_batch", text(spec_.in_batch)},
                {"in_row", text(spec_.in_row)},
                {"in_column", text(spec_.in_column)},
                {"out_batch", text(spec_.out_batch)},
                {"out_row", text(spec_.out_row)},
                {"out_column", text(spec_.out_column)}});
  }
  for (uint32_t i = 0; i < positions(); ++i) {
    for (uint32_t j = 0; j < shape_.vectors; ++j) {
      w_ << vector_type() << " " << sum(i, j) << " = 0;\n";
    }
  }
}

// The innermost step: one input channel of every position times one row of weights; the values are
// in a<i>.
void Writer::multiply(const std::string& weights_step) {
  for (uint32_t j = 0; j < shape_.vectors; ++j) {
    w_ << vector_type() << " w" << std::to_string(j) << " = "
       << load(spec_.weights.dtype, "w", plain(int64_t{j} * shape_.width), Compute::kFloat,
               shape_.width)
       << ";\n";
  }
  w_ << "w += " << weights_step << ";\n";
  for (uint32_t i = 0; i < positions(); ++i) {
    for (uint32_t j = 0; j < shape_.vectors; ++j) {
      w_ << sum(i, j) << " = fma((" << vector_type() << ")(a" << std::to_string(i) << "), w"
         << std::to_string(j) << ", " << sum(i, j) << ");\n";
    }
  }
}

void Writer::taps(bool checked) {
  const std::string step = spec_.packed ? plain(shape_.columns()) : plain(spec_.weights_row);
  const bool contiguous = spec_.in_channel == 1;
  const DType in = spec_.in.dtype;
  // Neighbouring columns follow each other without a gap: their channels are one run.
  const bool merged = !checked && contiguous && spec_.columns.taps > 1 &&
                      spec_.columns.tap_step == 1 && spec_.in_column == spec_.channels;
  const int64_t run = merged ? spec_.channels * spec_.columns.taps : spec_.channels;
  if (spec_.rows.taps > 1) {
    w_ << "for (int ty = 0; ty < " << plain(spec_.rows.taps) << "; ++ty) {\n";
  } else {
    w_ << "{ const int ty = 0;\n";
  }
  if (spec_.columns.taps > 1 && !merged) {
    w_ << "for (int tx = 0; tx < " << plain(spec_.columns.taps) << "; ++tx) {\n";
  } else {
    w_ << "{ const int tx = 0;\n";
  }
  w_ << "const int shift = ty * " << text(spec_.rows.tap_step * spec_.in_row) << " + tx * "
     << text(spec_.columns.tap_step * spec_.in_column) << ";\n";
  const std::string type = "__global const " + storage_name(in) + "*";
  for (uint32_t i = 0; i < positions(); ++i) {
    const std::string n = std::to_string(i);
    if (!checked) {
      w_ << type << " q" << n << " = in + f" << n << " + shift;\n";
      continue;
    }
    w_ << fill(
        "const int ok@i@ = (uint)(y@i@ + ty * @ty@) < (uint)@rows@ && (uint)(x@i@ + tx * @tx@) < "
        "(uint)@columns@;\n",
        {{"i", n},
         {"ty", text(spec_.rows.tap_step)},
         {"tx", text(spec_.columns.tap_step)},
         {"rows", plain(spec_.rows.extent)},
         {"columns", plain(spec_.columns.extent)}});
    w_ << type << " q" << n << " = ok" << n << " ? in + f" << n
       << " + shift : " << (contiguous ? zeros_ : "in") << ";\n";
  }
  w_ << "for (int c = 0; c < " << plain(run) << "; ++c) {\n";
  for (uint32_t i = 0; i < positions(); ++i) {
    const std::string n = std::to_string(i);
    const std::string at = spec_.in_channel == 1 ? "c" : "c * " + text(spec_.in_channel);
    const std::string value = load(in, "q" + n, at, Compute::kFloat);
    w_ << "const float a" << n << " = "
       << (checked && !contiguous ? "ok" + n + " ? " + value + " : 0.0f" : value) << ";\n";
  }
  multiply(step);
  w_ << "}\n}\n}\n";
}

void Writer::finish() {
  const std::string column = "n0";
  for (uint32_t j = 0; j < shape_.vectors; ++j) {
    if (!spec_.bias) break;
    const std::string n = std::to_string(j);
    std::string value;
    if (spec_.bias_is_scalar) {
      value = "(" + vector_type() + ")(" +
              load(spec_.bias->dtype, w_.input(*spec_.bias), "0", Compute::kFloat) + ")";
    } else {
      value =
          load(spec_.bias->dtype, w_.input(*spec_.bias),
               column + " + " + plain(int64_t{j} * shape_.width), Compute::kFloat, shape_.width);
    }
    if (spec_.beta != 1) value = literal(spec_.beta, Compute::kFloat) + " * " + value;
    w_ << "const " << vector_type() << " b" << n << " = " << value << ";\n";
  }
  for (uint32_t i = 0; i < positions(); ++i) {
    for (uint32_t j = 0; j < shape_.vectors; ++j) {
      const std::string v = sum(i, j);
      const std::string at =
          "t" + std::to_string(i) + " + " + column + " + " + plain(int64_t{j} * shape_.width);
      if (spec_.alpha != 1) w_ << v << " *= " << literal(spec_.alpha, Compute::kFloat) << ";\n";
      if (spec_.bias) w_ << v << " += b" << std::to_string(j) << ";\n";
      if (spec_.residual) {
        w_ << v
           << " += " << load(spec_.residual->dtype, "residual", at, Compute::kFloat, shape_.width)
           << ";\n";
      }
      const std::string value =
          spec_.attributes == nullptr
              ? v
              : activation_expression(*spec_.attributes, v, Compute::kFloat, shape_.width);
      w_ << store(spec_.out.dtype, "out", at, value, Compute::kFloat, shape_.width) << "\n";
    }
  }
}

Launch Writer::write() {
  const int64_t count = positions_per_launch();
  const int64_t blocks = (count + positions() - 1) / positions();
  const int64_t work = int64_t{positions()} * shape_.columns() * spec_.channels * spec_.rows.taps *
                       spec_.columns.taps;
  const int64_t batches = spec_.packed ? 1 : spec_.batch;
  int64_t per_item = 1;
  if (traits_.group == 1) {
    const int64_t all = blocks * shape_.tiles * spec_.groups * batches;
    per_item = std::clamp<int64_t>(kWorkWanted / std::max<int64_t>(work, 1), 1,
                                   std::max<int64_t>(all / kItemsWanted, 1));
    per_item = std::min(per_item, blocks);
  }
  const int64_t items = (blocks + per_item - 1) / per_item;

  w_.flush_subnormals();
  out_ = w_.output(spec_.out);
  in_ = w_.input(spec_.in);
  weights_ = w_.input(spec_.weights);
  const std::string tiles = plain(shape_.tiles);
  w_ << "const int item = (int)get_global_id(0);\nif (item >= " << plain(items)
     << ") return;\nconst int tile = (int)get_global_id(1) % " << tiles
     << ", group = (int)get_global_id(1) / " << tiles << ", matrix = (int)get_global_id(2);\n";
  w_ << "const int n0 = group * " << plain(spec_.out_channels) << " + min(tile * "
     << plain(shape_.columns()) << ", " << plain(spec_.out_channels - shape_.columns()) << ");\n";
  const auto pointer = [&](const char* name, bool written, DType dtype, const std::string& from,
                           const std::string& offset) {
    w_ << "__global " << (written ? "" : "const ") << storage_name(dtype) << "* " << name << " = "
       << from << " + (" << offset << ");\n";
  };
  const std::string matrix_in = spec_.packed ? "0" : "matrix * " + text(spec_.in_batch);
  const std::string matrix_out = spec_.packed ? "0" : "matrix * " + text(spec_.out_batch);
  pointer("in", false, spec_.in.dtype, in_,
          matrix_in + " + group * " + text(spec_.channels * spec_.in_channel));
  pointer("out", true, spec_.out.dtype, out_, matrix_out);
  if (spec_.residual) {
    pointer("residual", false, spec_.residual->dtype, w_.input(*spec_.residual), matrix_out);
  }
  const int64_t tile_weights =
      spec_.rows.taps * spec_.columns.taps * spec_.channels * shape_.columns();
  const std::string tile_start = spec_.packed ? "(int)get_global_id(1) * " + text(tile_weights)
                                              : "matrix * " + text(spec_.weights_batch) + " + n0";
  const bool contiguous = spec_.in_channel == 1;
  if (is_checked() && contiguous) {
    zeros_ = w_.input(lowering_.constant(
        spec_.in.dtype, {spec_.channels},
        std::vector<std::byte>(static_cast<size_t>(spec_.channels) * size_of(spec_.in.dtype))));
  }
  w_ << "for (int block = item * " << plain(per_item) << "; block < min((item + 1) * "
     << plain(per_item) << ", " << plain(blocks) << "); ++block) {\n";
  open_positions();
  pointer("w", false, spec_.weights.dtype, weights_, tile_start);
  if (!is_checked()) {
    taps(false);
  } else {
    // All positions of the tile on one row, and no tap of them outside: nothing to check.
    const std::string last = std::to_string(positions() - 1);
    const auto reach = [](const TileAxis& axis) { return (axis.taps - 1) * axis.tap_step; };
    w_ << fill(R"CL(if (y0 == y@n@ && x0 <= x@n@ && y0 + @low_y@ >= 0 && y0 + @high_y@ < @rows@ &&
    x0 + @low_x@ >= 0 && x@n@ + @high_x@ < @columns@ && f@n@ - f0 == (x@n@ - x0) * @in_column@) {
)CL",
               {{"n", last},
                {"low_y", text(std::min<int64_t>(0, reach(spec_.rows)))},
                {"high_y", text(std::max<int64_t>(0, reach(spec_.rows)))},
                {"low_x", text(std::min<int64_t>(0, reach(spec_.columns)))},
                {"high_x", text(std::max<int64_t>(0, reach(spec_.columns)))},
                {"rows", plain(spec_.rows.extent)},
                {"columns", plain(spec_.columns.extent)},
                {"in_column", text(spec_.in_column)}});
    taps(false);
    w_ << "} else {\n";
    taps(true);
    w_ << "}\n";
  }
  finish();
  w_ << "}\n";
  Launch launch = std::move(w_).finish();
  const auto group = static_cast<size_t>(std::min<int64_t>(traits_.group, items));
  launch.local[0] = group;
  launch.global = {(static_cast<size_t>(items) + group - 1) / group * group,
                   static_cast<size_t>(shape_.tiles * spec_.groups), static_cast<size_t>(batches)};
  return launch;
}

}  // namespace

bool TileAxis::always_inside() const {
  const int64_t reach = (taps - 1) * tap_step;
  const int64_t low = first + std::min<int64_t>(0, reach);
  const int64_t high = (positions - 1) * step + first + std::max<int64_t>(0, reach);
  return low >= 0 && high < extent;
}

int64_t TileShape::start(int64_t tile, int64_t out_channels) const {
  return std::min(tile * columns(), out_channels - columns());
}

TileShape tile_shape(const Traits& traits, int64_t out_channels, int64_t positions) {
  TileShape shape;
  shape.width = traits.vector;
  while (shape.width > 4 && shape.width > out_channels) shape.width /= 2;
  if (shape.width > out_channels) shape.width = 1;
  // As few vectors as cover the channels; of equals the wider tile.
  const uint32_t most_vectors = traits.vector == 16 ? 4 : std::max(traits.tile_vectors, 1u);
  int64_t best = 0;
  for (uint32_t vectors = 1; vectors <= most_vectors; ++vectors) {
    const int64_t columns = int64_t{shape.width} * vectors;
    if (columns > out_channels) break;
    const int64_t covered = (out_channels + columns - 1) / columns * vectors;
    if (best != 0 && covered > best) continue;
    // Four only if that saves vectors, or for a handful of rows.
    if (vectors == 4 && covered == best && positions > 4) continue;
    best = covered;
    shape.vectors = vectors;
  }
  shape.tiles = (out_channels + shape.columns() - 1) / shape.columns();
  const uint32_t sums = traits.tile_rows * std::max(traits.tile_vectors, 1u);
  shape.positions = std::clamp(sums / shape.vectors, 1u, traits.tile_rows);
  shape.positions = static_cast<uint32_t>(std::min<int64_t>(shape.positions, positions));
  return shape;
}

std::vector<float> pack_tiles(
    const TileSpec& spec, const TileShape& shape,
    const std::function<float(int64_t, int64_t, int64_t, int64_t, int64_t)>& weight) {
  std::vector<float> packed;
  packed.reserve(static_cast<size_t>(spec.groups * shape.tiles * spec.rows.taps *
                                     spec.columns.taps * spec.channels * shape.columns()));
  for (int64_t g = 0; g < spec.groups; ++g) {
    for (int64_t tile = 0; tile < shape.tiles; ++tile) {
      const int64_t start = shape.start(tile, spec.out_channels);
      for (int64_t ty = 0; ty < spec.rows.taps; ++ty) {
        for (int64_t tx = 0; tx < spec.columns.taps; ++tx) {
          for (int64_t c = 0; c < spec.channels; ++c) {
            for (int64_t n = 0; n < shape.columns(); ++n) {
              packed.push_back(weight(g, ty, tx, c, start + n));
            }
          }
        }
      }
    }
  }
  return packed;
}

Launch tile_kernel(Lowering& lowering, const TileSpec& spec, const TileShape& shape) {
  return Writer(lowering, spec, shape).write();
}

}  // namespace modeld::opencl
