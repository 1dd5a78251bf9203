// Attention of float32: for each share of heads and queries oneDNN's product, softmax over scores
// that are still in the cache, and oneDNN's product with the values. Transposes are strides.
#include <algorithm>
#include <optional>

#include "runtime/cpu/lowering.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/row_softmax.h"
#include "runtime/program/expand.h"

namespace modeld::cpu {
namespace {

using dnnl::memory;

constexpr int64_t kWorthSharing = 200'000;  // multiply-adds of both products
constexpr int64_t kMostScores = 64 * 1024;  // elements a member works on at once

bool given(const Op& op, size_t input) {
  return op.inputs.size() > input && op.inputs[input] != kNoTensor;
}

// A tensor as [outer.., heads, rows, columns] after its transposition. Strides in elements.
struct Side {
  Shape extents;
  std::vector<int64_t> strides;

  size_t rank() const { return extents.size(); }
  int64_t extent(size_t from_last) const { return extents[rank() - from_last]; }
  int64_t stride(size_t from_last) const { return strides[rank() - from_last]; }
};

Side side_of(const Shape& shape, const Attributes& attributes, std::string_view perm_name) {
  const std::vector<int64_t> strides = strides_of(shape, Layout::kPlain);
  if (!attributes.has(perm_name)) return {shape, strides};
  Side side;
  for (const int64_t axis : attributes.get_ints(perm_name)) {
    side.extents.push_back(shape[static_cast<size_t>(axis)]);
    side.strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  return side;
}

// The output before its transposition.
Side output_side(const Shape& shape, const Attributes& attributes) {
  if (!attributes.has("y_perm")) return {shape, strides_of(shape, Layout::kPlain)};
  const std::vector<int64_t> strides = strides_of(shape, Layout::kPlain);
  const std::vector<int64_t> perm = attributes.get_ints("y_perm");
  Side side{Shape(shape.size()), std::vector<int64_t>(shape.size())};
  for (size_t i = 0; i < perm.size(); ++i) {
    side.extents[static_cast<size_t>(perm[i])] = shape[i];
    side.strides[static_cast<size_t>(perm[i])] = strides[i];
  }
  return side;
}

// A bias that broadcasts to `scores`.
Side bias_side(const Shape& shape, const Shape& scores) {
  const std::vector<int64_t> own = strides_of(shape, Layout::kPlain);
  Side side{scores, std::vector<int64_t>(scores.size(), 0)};
  const size_t skip = scores.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) side.strides[skip + i] = own[i];
  }
  return side;
}

// With a stand-in axis of heads where there is none.
Side with_heads(Side side) {
  if (side.rank() > 2) return side;
  side.extents.insert(side.extents.begin(), 1);
  side.strides.insert(side.strides.begin(), 0);
  return side;
}

struct Sides {
  Side q, k, v, y, bias;
  bool has_bias = false;

  int64_t heads() const { return q.extent(3); }
  int64_t rows() const { return q.extent(2); }
  int64_t keys() const { return k.extent(1); }
  int64_t outer() const {
    int64_t product = 1;
    for (size_t i = 0; i + 3 < q.rank(); ++i) product *= q.extents[i];
    return product;
  }
  // Where part `index` of outer() starts.
  int64_t offset(const Side& side, int64_t index) const {
    int64_t offset = 0;
    for (size_t i = q.rank() - 3; i-- > 0;) {
      offset += index % q.extents[i] * side.strides[i];
      index /= q.extents[i];
    }
    return offset;
  }
};

std::optional<Sides> sides_of(const Program& program, const Op& op) {
  const auto shape = [&](size_t input) { return program.tensors[op.inputs[input]].type.shape; };
  Sides sides;
  sides.q = with_heads(side_of(shape(0), op.attributes, "q_perm"));
  sides.k = with_heads(side_of(shape(1), op.attributes, "k_perm"));
  sides.v = with_heads(side_of(shape(2), op.attributes, "v_perm"));
  sides.y = with_heads(output_side(program.tensors[op.outputs[0]].type.shape, op.attributes));
  const auto batch = [](const Side& side) {
    return Shape(side.extents.begin(), side.extents.end() - 2);
  };
  if (batch(sides.q) != batch(sides.k) || batch(sides.q) != batch(sides.v)) return std::nullopt;
  Shape scores = sides.q.extents;
  scores.back() = sides.keys();
  sides.has_bias = given(op, 4);
  if (sides.has_bias) sides.bias = bias_side(shape(4), scores);
  return sides;
}

// Heads and rows that one call computes.
struct Block {
  int64_t outer;
  Share heads;
  Share rows;
};

// What each member does, block after block.
std::vector<std::vector<Block>> blocks_of(const Sides& sides, unsigned members) {
  const int64_t work = sides.outer() * sides.heads() * sides.rows() * sides.keys() *
                       (sides.q.extent(1) + sides.v.extent(1));
  const bool by_heads = sides.heads() >= static_cast<int64_t>(members);
  const bool by_rows = sides.rows() >= static_cast<int64_t>(members) * 8;
  if (work < kWorthSharing || (!by_heads && !by_rows)) members = 1;
  std::vector<std::vector<Block>> blocks(members);
  for (unsigned member = 0; member < members; ++member) {
    const Share heads =
        by_heads ? share_of(sides.heads(), member, members) : Share{0, sides.heads()};
    const Share rows = by_heads ? Share{0, sides.rows()} : share_of(sides.rows(), member, members);
    const int64_t per_row = (heads.end - heads.begin) * sides.keys();
    const int64_t at_once = std::max<int64_t>(8, kMostScores / std::max<int64_t>(per_row, 1));
    for (int64_t outer = 0; outer < sides.outer(); ++outer) {
      for (int64_t row = rows.begin; row < rows.end; row += at_once) {
        blocks[member].push_back({outer, heads, {row, std::min(row + at_once, rows.end)}});
      }
    }
  }
  return blocks;
}

struct Values {
  ValueId q, k, v, y, bias, scores;
};

// The two products of a block; calls of equal blocks share their primitives.
class ProductMaker {
 public:
  ProductMaker(Lowering& lowering, const Sides& sides, const Values& values)
      : lowering_(lowering), sides_(sides), values_(values) {}

  OneDnnCall scores(const Block& block) {
    const memory::desc out = scores_desc(block);
    const int64_t q = sides_.offset(sides_.q, block.outer) +
                      block.heads.begin * sides_.q.stride(3) +
                      block.rows.begin * sides_.q.stride(2);
    const int64_t k = sides_.offset(sides_.k, block.outer) + block.heads.begin * sides_.k.stride(3);
    return call({desc(sides_.q, block, true), values_.q, q},
                {desc(sides_.k, block, false), values_.k, k}, {out, values_.scores, 0});
  }

  OneDnnCall mixture(const Block& block) {
    const int64_t v = sides_.offset(sides_.v, block.outer) + block.heads.begin * sides_.v.stride(3);
    const int64_t y = sides_.offset(sides_.y, block.outer) +
                      block.heads.begin * sides_.y.stride(3) +
                      block.rows.begin * sides_.y.stride(2);
    return call({scores_desc(block), values_.scores, 0},
                {desc(sides_.v, block, false), values_.v, v},
                {desc(sides_.y, block, true), values_.y, y});
  }

  const std::vector<ValueId>& scratchpads() const { return scratchpads_; }

 private:
  struct Argument {
    memory::desc desc;
    ValueId value;
    int64_t offset;  // elements
  };
  struct Made {
    memory::desc left, right, out;
    dnnl::matmul::primitive_desc description;
    dnnl::matmul primitive;
    ValueId scratchpad;
  };

  memory::desc desc(const Side& side, const Block& block, bool of_rows) const {
    const int64_t rows = of_rows ? block.rows.end - block.rows.begin : side.extent(2);
    return {{block.heads.end - block.heads.begin, rows, side.extent(1)},
            memory::data_type::f32,
            {std::max<int64_t>(side.stride(3), 1), side.stride(2), side.stride(1)}};
  }

  memory::desc scores_desc(const Block& block) const {
    const int64_t rows = block.rows.end - block.rows.begin;
    const int64_t keys = sides_.keys();
    return {{block.heads.end - block.heads.begin, rows, keys},
            memory::data_type::f32,
            {rows * keys, keys, 1}};
  }

  const Made& made(const memory::desc& left, const memory::desc& right, const memory::desc& out) {
    for (const Made& have : made_) {
      if (have.left == left && have.right == right && have.out == out) return have;
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto chosen = fastest<dnnl::matmul>({left, right, out}, attributes);
    const size_t scratch = chosen.scratchpad_desc().get_size();
    const ValueId scratchpad = scratch > 0 ? lowering_.temporary(scratch) : kNoValue;
    if (scratch > 0) scratchpads_.push_back(scratchpad);
    made_.push_back({left, right, out, chosen, dnnl::matmul(chosen), scratchpad});
    return made_.back();
  }

  OneDnnCall call(const Argument& left, const Argument& right, const Argument& out) {
    const Made& product = made(left.desc, right.desc, out.desc);
    std::vector<OneDnnCall::Impl::Argument> arguments;
    const auto add = [&](int index, const Argument& given) {
      arguments.push_back({index, memory(given.desc, onednn_engine(), nullptr), given.value,
                           static_cast<uint64_t>(given.offset) * sizeof(float)});
    };
    add(DNNL_ARG_SRC, left);
    add(DNNL_ARG_WEIGHTS, right);
    add(DNNL_ARG_DST, out);
    if (product.scratchpad != kNoValue) {
      add(DNNL_ARG_SCRATCHPAD, {product.description.scratchpad_desc(), product.scratchpad, 0});
    }
    return OneDnnCall(std::make_unique<OneDnnCall::Impl>(product.primitive, std::move(arguments)));
  }

  Lowering& lowering_;
  const Sides& sides_;
  const Values& values_;
  std::vector<Made> made_;
  std::vector<ValueId> scratchpads_;
};

struct PreparedBlock {
  Block block;
  OneDnnCall scores;
  OneDnnCall mixture;
};

struct MemberWork {
  ValueId scores;
  std::vector<PreparedBlock> blocks;
};

class AttentionStep final : public Step {
 public:
  AttentionStep(std::vector<MemberWork> work, const Sides& sides, ValueId bias, float scale)
      : work_(std::move(work)), sides_(sides), bias_(bias), scale_(scale) {}

  void run(const RunContext& context) override {
    MemberWork& work = work_[context.part];
    for (PreparedBlock& prepared : work.blocks) {
      prepared.scores.execute(context);
      share_out(prepared.block, context.at<float>(work.scores),
                bias_ == kNoValue ? nullptr : context.at<float>(bias_));
      prepared.mixture.execute(context);
    }
  }

 private:
  // Scores, scaled and biased, to shares in place.
  void share_out(const Block& block, float* scores, const float* bias) const {
    const int64_t keys = sides_.keys();
    const int64_t rows = block.rows.end - block.rows.begin;
    const int64_t count = (block.heads.end - block.heads.begin) * rows;
    const int64_t along = bias == nullptr ? 0 : sides_.bias.stride(1);
    const int64_t first = bias == nullptr ? 0 : sides_.offset(sides_.bias, block.outer);
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (int64_t i = 0; i < count; ++i) {
        float* row = scores + i * keys;
        if (scale_ != 1.0f) {
          for (int64_t j = 0; j < keys; ++j) row[j] *= scale_;
        }
        if (bias != nullptr) {
          const float* addend = bias + first +
                                (block.heads.begin + i / rows) * sides_.bias.stride(3) +
                                (block.rows.begin + i % rows) * sides_.bias.stride(2);
          if (along == 1) {
            for (int64_t j = 0; j < keys; ++j) row[j] += addend[j];
          } else {
            for (int64_t j = 0; j < keys; ++j) row[j] += addend[j * along];
          }
        }
        softmax_row(row, row, keys);
      }
    });
  }

  std::vector<MemberWork> work_;
  const Sides sides_;
  const ValueId bias_;
  const float scale_;
};

}  // namespace

bool keeps_attention(const Program& program, const Op& op) {
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor) continue;
    if (stored_dtype(program.tensors[id].type.dtype) != DType::kFloat32) return false;
    if (program.tensors[id].type.elements() == 0) return false;
  }
  if (given(op, 3) && !program.tensors[op.inputs[3]].is_constant()) return false;
  return program.tensors[op.outputs[0]].type.elements() > 0 && sides_of(program, op).has_value();
}

Result<bool> lower_attention(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kAttention) return false;
  const Sides sides = *sides_of(lowering.program(), op);
  const float scale = given(op, 3) ? lowering.constant_floats(op.inputs[3])[0] : 1.0f;
  Values values{};
  std::vector<ValueId> reads;
  const auto read = [&](size_t input) {
    reads.push_back(lowering.value(op.inputs[input], Layout::kPlain));
    return reads.back();
  };
  values.q = read(0);
  values.k = read(1);
  values.v = read(2);
  values.bias = sides.has_bias ? read(4) : kNoValue;
  values.y = lowering.define(op.outputs[0], Layout::kPlain);
  std::vector<ValueId> writes = {values.y};
  std::vector<MemberWork> work;
  MODELD_TRY(onednn_try([&] {
    for (const std::vector<Block>& blocks : blocks_of(sides, lowering.members())) {
      int64_t most = 0;
      for (const Block& block : blocks) {
        most = std::max(most, (block.heads.end - block.heads.begin) *
                                  (block.rows.end - block.rows.begin) * sides.keys());
      }
      values.scores = lowering.temporary(static_cast<uint64_t>(most) * sizeof(float));
      writes.push_back(values.scores);
      ProductMaker products(lowering, sides, values);
      MemberWork member{values.scores, {}};
      for (const Block& block : blocks) {
        member.blocks.push_back({block, products.scores(block), products.mixture(block)});
      }
      writes.insert(writes.end(), products.scratchpads().begin(), products.scratchpads().end());
      work.push_back(std::move(member));
    }
  }));
  Lowering::StepOptions options;
  options.parallel = work.size() > 1;
  lowering.add(std::make_unique<AttentionStep>(std::move(work), sides, values.bias, scale),
               "oneDNN matmul + softmax", std::move(reads), std::move(writes), std::move(options));
  return true;
}

}  // namespace modeld::cpu
