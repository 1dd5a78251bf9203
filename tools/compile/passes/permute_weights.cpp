#include "tools/compile/passes/permute_weights.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

// For each element of the transposed rest (all axes but the first), its position before.
std::vector<size_t> origins(const Shape& shape, const std::vector<int64_t>& perm) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size() - 1; axis-- > 0;)
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  std::vector<size_t> result = {0};
  for (size_t i = 1; i < perm.size(); ++i) {
    const auto axis = static_cast<size_t>(perm[i]);
    std::vector<size_t> next;
    next.reserve(result.size() * static_cast<size_t>(shape[axis]));
    for (const size_t base : result) {
      for (int64_t k = 0; k < shape[axis]; ++k) {
        next.push_back(base + static_cast<size_t>(k * strides[axis]));
      }
    }
    result = std::move(next);
  }
  return result;
}

// A product that reads `tensor` [n, k] on its left and a constant on its right.
bool takes_permuted(const Draft& draft, const Op& op, TensorId tensor) {
  const bool gemm = op.kind == OpKind::kGemm && op.attributes.get_int("trans_a") == 0;
  if (!gemm && op.kind != OpKind::kMatMul) return false;
  const HostTensor* right = draft.constant(op.inputs[1]);
  if (op.inputs[0] != tensor || right == nullptr || right->type.shape.size() != 2) return false;
  return std::count(op.inputs.begin(), op.inputs.end(), tensor) == 1;
}

// Row k of the right side becomes row origin[k]; with `transposed`, columns.
HostTensor permuted(const HostTensor& right, const std::vector<size_t>& origin, bool transposed) {
  HostTensor result = right;
  const size_t size = size_of(right.type.dtype);
  const auto columns = static_cast<size_t>(right.type.shape[1]);
  if (!transposed) {
    for (size_t k = 0; k < origin.size(); ++k) {
      std::memcpy(result.bytes.data() + origin[k] * columns * size,
                  right.bytes.data() + k * columns * size, columns * size);
    }
    return result;
  }
  for (size_t row = 0; row < static_cast<size_t>(right.type.shape[0]); ++row) {
    for (size_t k = 0; k < origin.size(); ++k) {
      std::memcpy(result.bytes.data() + (row * columns + origin[k]) * size,
                  right.bytes.data() + (row * columns + k) * size, size);
    }
  }
  return result;
}

class Permuter {
 public:
  Permuter(Draft& draft, Links& links) : draft_(draft), links_(links) {}

  // Whether the Reshape at `at` and its readers were changed.
  Result<bool> apply(size_t at);

 private:
  Draft& draft_;
  Links& links_;
};

Result<bool> Permuter::apply(size_t at) {
  const Op& reshape = links_.op(at);
  const auto before = links_.producer(reshape.inputs[0], OpKind::kTranspose);
  if (!before || !links_.has_single_use(reshape.inputs[0])) return false;
  const Op& transpose = links_.op(*before);
  const Shape& from = draft_.shape(transpose.inputs[0]);
  const TensorId flat = reshape.outputs[0];
  const std::vector<int64_t> perm = transpose.attributes.get_ints("perm");
  if (perm.size() < 2 || perm[0] != 0 || links_.is_root(flat)) return false;
  if (draft_.shape(flat).size() != 2 || draft_.shape(flat)[0] != from[0]) return false;
  const std::vector<size_t> readers = links_.readers(flat);
  for (const size_t reader : readers) {
    if (!takes_permuted(draft_, links_.op(reader), flat)) return false;
  }
  if (readers.empty()) return false;
  const std::vector<size_t> origin = origins(from, perm);
  for (const size_t reader : readers) {
    Op product = links_.op(reader);
    const bool transposed = product.attributes.get_int("trans_b") != 0;
    MODELD_ASSIGN(
        product.inputs[1],
        draft_.add_constant(permuted(*draft_.constant(product.inputs[1]), origin, transposed),
                            product.name + ".weight"));
    links_.replace_op(reader, std::move(product));
  }
  Op straight = reshape;
  straight.inputs = {transpose.inputs[0]};
  links_.replace_op(at, std::move(straight));
  links_.remove_op(*before);
  return true;
}

}  // namespace

Result<Changes> permute_weights(Draft& draft) {
  Links links(draft);
  Changes changes;
  Permuter permuter(draft, links);
  for (size_t i = 0; i < links.op_count(); ++i) {
    if (links.removed(i) || links.op(i).kind != OpKind::kReshape) continue;
    const auto before = links.producer(links.op(i).inputs[0], OpKind::kTranspose);
    if (!before) continue;
    const std::string names = fused_names(links.op(*before), links.op(i));
    MODELD_ASSIGN(const bool done, permuter.apply(i));
    if (done) changes.push_back(names + " into the weights behind");
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
