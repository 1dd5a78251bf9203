// Attention (opset 23 on) spelled out: softmax(softcap(Q K' scale) + bias) V by heads. Formulas and
// the alignment of the causal mask: ONNX operator documentation, Attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/compile/dtype_numbers.h"
#include "tools/compile/op_families.h"

namespace modeld::compile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AttentionImport {
 public:
  explicit AttentionImport(NodeImport& node) : node_(node) {}

  Status run() {
    MODELD_TRY(node_.expect_inputs(3, 7));
    MODELD_TRY(split_heads());
    MODELD_TRY(append_past());
    MODELD_TRY(make_bias());
    MODELD_TRY(repeat_heads());
    return attend();
  }

 private:
  const Shape& shape(TensorId id) const { return node_.draft().shape(id); }
  int64_t queries() const { return shape(q_)[2]; }
  int64_t keys() const { return shape(k_)[2]; }

  // (batch, sequence, heads * size) as (batch, heads, sequence, size).
  Result<TensorId> by_heads(TensorId id, int64_t heads) {
    const Shape x = shape(id);
    if (heads < 1 || x[2] % heads != 0) {
      return node_.refused("the last axis does not divide into heads")
          .expecting("a multiple of " + std::to_string(heads), to_string(x));
    }
    MODELD_ASSIGN(id, node_.reshape(id, {x[0], x[1], heads, x[2] / heads}));
    return node_.transpose(id, {0, 2, 1, 3});
  }

  Status split_heads() {
    const int64_t q_heads = node_.attr_int("q_num_heads", 0);
    const int64_t kv_heads = node_.attr_int("kv_num_heads", 0);
    merged_ = node_.rank(0) == 3;
    const int64_t rank = merged_ ? 3 : 4;
    for (size_t i = 0; i < 3; ++i) {
      if (node_.rank(i) == rank) continue;
      return node_.refused("Q, K and V are not all of rank 3 or all of rank 4")
          .expecting("rank " + std::to_string(rank), to_string(node_.shape(i)));
    }
    q_ = node_.input(0);
    k_ = node_.input(1);
    v_ = node_.input(2);
    if (!merged_) return {};
    MODELD_ASSIGN(q_, by_heads(q_, q_heads));
    MODELD_ASSIGN(k_, by_heads(k_, kv_heads));
    MODELD_ASSIGN(v_, by_heads(v_, kv_heads));
    return {};
  }

  Status append_past() {
    if (node_.has_input(4) != node_.has_input(5)) {
      return node_.refused("'past_key' and 'past_value' come together or not at all");
    }
    if (node_.has_input(4)) {
      if (node_.rank(4) != 4) return node_.refused("'past_key' is not of rank 4");
      past_ = node_.shape(4)[2];
      Attributes axis;
      axis.set("axis", int64_t{2});
      MODELD_ASSIGN(k_, node_.emit(OpKind::kConcat, {node_.input(4), k_}, axis));
      MODELD_ASSIGN(v_, node_.emit(OpKind::kConcat, {node_.input(5), v_}, axis));
    }
    node_.set_output(1, k_);
    node_.set_output(2, v_);
    return {};
  }

  // 0 where `allowed`, else minus infinity.
  Result<TensorId> bias_of(TensorId allowed) {
    MODELD_ASSIGN(const TensorId zero, node_.scalar_like(q_, 0));
    MODELD_ASSIGN(const TensorId never, node_.scalar_like(q_, -kInfinity));
    return node_.emit(OpKind::kWhere, {allowed, zero, never});
  }

  Status add_bias(TensorId more) {
    if (bias_ == kNoTensor) {
      bias_ = more;
      return {};
    }
    MODELD_ASSIGN(bias_, node_.emit(OpKind::kAdd, {bias_, more}));
    return {};
  }

  // A mask shorter than the keys masks those behind it.
  Status add_mask() {
    TensorId mask = node_.input(3);
    if (node_.dtype(3) == DType::kBool) {
      MODELD_ASSIGN(mask, bias_of(mask));
    } else {
      MODELD_ASSIGN(mask, node_.cast(mask, node_.draft().dtype(q_)));
    }
    const Shape given = shape(mask);
    if (given.empty()) return node_.refused("'attn_mask' is a scalar");
    if (given.back() != 1 && given.back() < keys()) {
      std::vector<int64_t> pads(2 * given.size(), 0);
      pads.back() = keys() - given.back();
      Attributes attributes;
      attributes.set("pads", std::move(pads));
      attributes.set("mode", std::string("constant"));
      attributes.set("value", -kInfinity);
      MODELD_ASSIGN(mask, node_.emit(OpKind::kPad, {mask}, std::move(attributes)));
    }
    return add_bias(mask);
  }

  // key - query for every pair.
  Result<TensorId> differences() {
    return node_.numbers({queries(), keys()},
                         [count = keys()](int64_t i) { return i % count - i / count; });
  }

  // What query 0 stands at among the keys: behind the past, or, where the number of valid keys is
  // given per batch, such that the last query meets the last valid key.
  Result<TensorId> first_query() {
    if (!node_.has_input(6)) return node_.constant(scalar(past_));
    MODELD_ASSIGN(const TensorId count, node_.constant(scalar(queries())));
    return node_.emit(OpKind::kSub, {valid_, count});
  }

  static HostTensor scalar(int64_t value) {
    HostTensor tensor = from_ints(std::vector<int64_t>{value});
    tensor.type.shape = {};
    return tensor;
  }

  // Pairs whose difference is at most (at least) `by` from where the query stands.
  Status add_frontier(OpKind kind, int64_t by) {
    MODELD_ASSIGN(const TensorId difference, differences());
    MODELD_ASSIGN(TensorId border, first_query());
    MODELD_ASSIGN(const TensorId shift, node_.constant(scalar(by)));
    MODELD_ASSIGN(border, node_.emit(OpKind::kAdd, {border, shift}));
    MODELD_ASSIGN(const TensorId allowed, node_.emit(kind, {difference, border}));
    MODELD_ASSIGN(const TensorId bias, bias_of(allowed));
    return add_bias(bias);
  }

  Status make_bias() {
    if (node_.has_input(6)) {
      if (node_.has_input(4)) {
        return node_.refused("'nonpad_kv_seqlen' together with a past");
      }
      MODELD_ASSIGN(valid_, node_.cast(node_.input(6), DType::kInt64));
      MODELD_ASSIGN(valid_, node_.reshape(valid_, {shape(q_)[0], 1, 1, 1}));
    }
    if (node_.has_input(3)) MODELD_TRY(add_mask());
    if (node_.attr_int("is_causal", 0) != 0) {
      MODELD_TRY(add_frontier(OpKind::kLessOrEqual, 0));
    }
    const int64_t left = node_.attr_int("left_window_size", -1);
    const int64_t right = node_.attr_int("right_window_size", -1);
    if (left >= 0) MODELD_TRY(add_frontier(OpKind::kGreaterOrEqual, -left));
    if (right >= 0) MODELD_TRY(add_frontier(OpKind::kLessOrEqual, right));
    if (!node_.has_input(6)) return {};
    MODELD_ASSIGN(const TensorId key, node_.numbers({keys()}, [](int64_t j) { return j; }));
    MODELD_ASSIGN(const TensorId allowed, node_.emit(OpKind::kLess, {key, valid_}));
    MODELD_ASSIGN(const TensorId bias, bias_of(allowed));
    return add_bias(bias);
  }

  // Groups of query heads share a head of keys and values.
  Result<TensorId> repeated(TensorId id, int64_t times) {
    const Shape x = shape(id);
    MODELD_ASSIGN(id, node_.reshape(id, {x[0], x[1], 1, x[2], x[3]}));
    Attributes attributes;
    attributes.set("shape", Shape{x[0], x[1], times, x[2], x[3]});
    MODELD_ASSIGN(id, node_.emit(OpKind::kExpand, {id}, std::move(attributes)));
    return node_.reshape(id, {x[0], x[1] * times, x[2], x[3]});
  }

  Status repeat_heads() {
    const int64_t q_heads = shape(q_)[1];
    for (TensorId* id : {&k_, &v_}) {
      const int64_t heads = shape(*id)[1];
      if (heads == q_heads) continue;
      if (heads < 1 || q_heads % heads != 0) {
        return node_.refused("heads of the queries do not divide among those of keys and values")
            .expecting("a multiple of " + std::to_string(heads), std::to_string(q_heads));
      }
      MODELD_ASSIGN(*id, repeated(*id, q_heads / heads));
    }
    return {};
  }

  Result<TensorId> scaled(TensorId id, double factor) {
    if (factor == 1) return id;
    MODELD_ASSIGN(const TensorId by, node_.scalar_like(id, factor));
    return node_.emit(OpKind::kMul, {id, by});
  }

  // Both factors get the root of the scale in half types, whose products overflow early.
  Result<TensorId> scores() {
    const double size = static_cast<double>(shape(q_)[3]);
    const double scale = node_.attr_float("scale", 1 / std::sqrt(size));
    if (!(scale >= 0)) return node_.refused("attribute 'scale' is negative");
    const bool half = size_of(node_.draft().dtype(q_)) == 2;
    TensorId k = k_;
    MODELD_ASSIGN(const TensorId q, scaled(q_, half ? std::sqrt(scale) : scale));
    if (half) {
      MODELD_ASSIGN(k, scaled(k, std::sqrt(scale)));
    }
    MODELD_ASSIGN(const TensorId transposed, node_.transpose(k, {0, 1, 3, 2}));
    return node_.emit(OpKind::kMatMul, {q, transposed});
  }

  Result<TensorId> softcapped(TensorId id) {
    const double cap = node_.attr_float("softcap", 0);
    if (!(cap > 0)) return id;
    MODELD_ASSIGN(const TensorId by, node_.scalar_like(id, cap));
    MODELD_ASSIGN(id, node_.emit(OpKind::kDiv, {id, by}));
    MODELD_ASSIGN(id, node_.emit(OpKind::kTanh, {id}));
    return node_.emit(OpKind::kMul, {id, by});
  }

  Result<TensorId> probabilities(TensorId id) {
    const DType dtype = node_.draft().dtype(q_);
    DType precision = dtype;
    if (node_.has_attribute("softmax_precision")) {
      MODELD_ASSIGN(precision, dtype_of(node_.attr_int("softmax_precision", 1)));
    }
    MODELD_ASSIGN(id, node_.cast(id, precision));
    Attributes attributes;
    attributes.set("axis", int64_t{3});
    MODELD_ASSIGN(id, node_.emit(OpKind::kSoftmax, {id}, std::move(attributes)));
    MODELD_ASSIGN(id, node_.cast(id, dtype));
    return without_masked_rows(id);
  }

  // A query that may attend to nothing gets zeros, not the softmax of nothing.
  Result<TensorId> without_masked_rows(TensorId id) {
    if (bias_ == kNoTensor) return id;
    const auto last = static_cast<int64_t>(shape(bias_).size()) - 1;
    MODELD_ASSIGN(const TensorId most, node_.reduce(OpKind::kReduceMax, bias_, {last}));
    if (const HostTensor* known = node_.draft().constant(most)) {
      const std::vector<double> values = to_doubles(*known);
      if (std::all_of(values.begin(), values.end(), [](double x) { return x > -kInfinity; })) {
        return id;
      }
    }
    MODELD_ASSIGN(const TensorId never, node_.scalar_like(most, -kInfinity));
    MODELD_ASSIGN(const TensorId zero, node_.scalar_like(id, 0));
    MODELD_ASSIGN(const TensorId masked, node_.emit(OpKind::kEqual, {most, never}));
    return node_.emit(OpKind::kWhere, {masked, zero, id});
  }

  Status attend() {
    const int64_t mode = node_.attr_int("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) return node_.refused("attribute 'qk_matmul_output_mode' is unknown");
    std::array<TensorId, 4> stages{};
    MODELD_ASSIGN(stages[0], scores());
    MODELD_ASSIGN(stages[1], softcapped(stages[0]));
    stages[2] = stages[1];
    if (bias_ != kNoTensor) {
      MODELD_ASSIGN(stages[2], node_.emit(OpKind::kAdd, {stages[1], bias_}));
    }
    MODELD_ASSIGN(stages[3], probabilities(stages[2]));
    MODELD_ASSIGN(TensorId y, node_.emit(OpKind::kMatMul, {stages[3], v_}));
    if (merged_) {
      MODELD_ASSIGN(y, node_.transpose(y, {0, 2, 1, 3}));
      const Shape x = shape(y);
      MODELD_ASSIGN(y, node_.reshape(y, {x[0], x[1], x[2] * x[3]}));
    }
    node_.set_output(0, y);
    node_.set_output(3, stages[static_cast<size_t>(mode)]);
    return {};
  }

  NodeImport& node_;
  bool merged_ = false;  // heads share the last axis of the inputs
  int64_t past_ = 0;     // keys before the first query
  TensorId q_ = kNoTensor;
  TensorId k_ = kNoTensor;
  TensorId v_ = kNoTensor;
  TensorId valid_ = kNoTensor;  // number of valid keys by batch
  TensorId bias_ = kNoTensor;   // added to the scores; absent: nothing
};

Status attention(NodeImport& node) {
  return AttentionImport(node).run();
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Attention", attention},
});

}  // namespace

std::span<const ImporterRow> attention_importers() {
  return kImporters;
}

}  // namespace modeld::compile
