#include "runtime/program/op.h"

#include <array>
#include <utility>

namespace modeld {
namespace {

using Named = std::pair<OpKind, std::string_view>;

constexpr auto kNames = std::to_array<Named>({
    {OpKind::kWarp, "Warp"},
    {OpKind::kConv, "Conv"},
    {OpKind::kConvInteger, "ConvInteger"},
    {OpKind::kConvTranspose, "ConvTranspose"},
    {OpKind::kGemm, "Gemm"},
    {OpKind::kMatMul, "MatMul"},
    {OpKind::kMatMulInteger, "MatMulInteger"},
    {OpKind::kGru, "GRU"},
    {OpKind::kLstm, "LSTM"},
    {OpKind::kRnn, "RNN"},
    {OpKind::kAbs, "Abs"},
    {OpKind::kAcos, "Acos"},
    {OpKind::kAcosh, "Acosh"},
    {OpKind::kAsin, "Asin"},
    {OpKind::kAsinh, "Asinh"},
    {OpKind::kAtan, "Atan"},
    {OpKind::kAtanh, "Atanh"},
    {OpKind::kCeil, "Ceil"},
    {OpKind::kClip, "Clip"},
    {OpKind::kCos, "Cos"},
    {OpKind::kCosh, "Cosh"},
    {OpKind::kElu, "Elu"},
    {OpKind::kErf, "Erf"},
    {OpKind::kExp, "Exp"},
    {OpKind::kFloor, "Floor"},
    {OpKind::kGelu, "Gelu"},
    {OpKind::kHardSigmoid, "HardSigmoid"},
    {OpKind::kHardSwish, "HardSwish"},
    {OpKind::kLeakyRelu, "LeakyRelu"},
    {OpKind::kLog, "Log"},
    {OpKind::kMish, "Mish"},
    {OpKind::kNeg, "Neg"},
    {OpKind::kNot, "Not"},
    {OpKind::kReciprocal, "Reciprocal"},
    {OpKind::kRelu, "Relu"},
    {OpKind::kRound, "Round"},
    {OpKind::kSigmoid, "Sigmoid"},
    {OpKind::kSign, "Sign"},
    {OpKind::kSilu, "Silu"},
    {OpKind::kSin, "Sin"},
    {OpKind::kSinh, "Sinh"},
    {OpKind::kSoftplus, "Softplus"},
    {OpKind::kSqrt, "Sqrt"},
    {OpKind::kTan, "Tan"},
    {OpKind::kTanh, "Tanh"},
    {OpKind::kAdd, "Add"},
    {OpKind::kAnd, "And"},
    {OpKind::kDiv, "Div"},
    {OpKind::kEqual, "Equal"},
    {OpKind::kGreater, "Greater"},
    {OpKind::kGreaterOrEqual, "GreaterOrEqual"},
    {OpKind::kLess, "Less"},
    {OpKind::kLessOrEqual, "LessOrEqual"},
    {OpKind::kMax, "Max"},
    {OpKind::kMin, "Min"},
    {OpKind::kMod, "Mod"},
    {OpKind::kMul, "Mul"},
    {OpKind::kOr, "Or"},
    {OpKind::kPow, "Pow"},
    {OpKind::kPRelu, "PRelu"},
    {OpKind::kSub, "Sub"},
    {OpKind::kWhere, "Where"},
    {OpKind::kBatchNormalization, "BatchNormalization"},
    {OpKind::kLayerNormalization, "LayerNormalization"},
    {OpKind::kLogSoftmax, "LogSoftmax"},
    {OpKind::kRmsNormalization, "RMSNormalization"},
    {OpKind::kSoftmax, "Softmax"},
    {OpKind::kCumSum, "CumSum"},
    {OpKind::kReduceL1, "ReduceL1"},
    {OpKind::kReduceL2, "ReduceL2"},
    {OpKind::kReduceLogSumExp, "ReduceLogSumExp"},
    {OpKind::kReduceMax, "ReduceMax"},
    {OpKind::kReduceMean, "ReduceMean"},
    {OpKind::kReduceMin, "ReduceMin"},
    {OpKind::kReduceProd, "ReduceProd"},
    {OpKind::kReduceSum, "ReduceSum"},
    {OpKind::kReduceSumSquare, "ReduceSumSquare"},
    {OpKind::kArgMax, "ArgMax"},
    {OpKind::kArgMin, "ArgMin"},
    {OpKind::kAveragePool, "AveragePool"},
    {OpKind::kMaxPool, "MaxPool"},
    {OpKind::kResize, "Resize"},
    {OpKind::kDequantizeLinear, "DequantizeLinear"},
    {OpKind::kQuantizeLinear, "QuantizeLinear"},
    {OpKind::kGatherElements, "GatherElements"},
    {OpKind::kGatherNd, "GatherND"},
    {OpKind::kNonMaxSuppression, "NonMaxSuppression"},
    {OpKind::kScatterElements, "ScatterElements"},
    {OpKind::kScatterNd, "ScatterND"},
    {OpKind::kTopK, "TopK"},
    {OpKind::kCast, "Cast"},
    {OpKind::kConcat, "Concat"},
    {OpKind::kExpand, "Expand"},
    {OpKind::kGather, "Gather"},
    {OpKind::kPad, "Pad"},
    {OpKind::kReshape, "Reshape"},
    {OpKind::kSlice, "Slice"},
    {OpKind::kSplit, "Split"},
    {OpKind::kTile, "Tile"},
    {OpKind::kTranspose, "Transpose"},
    {OpKind::kAttention, "Attention"},
    {OpKind::kPointwise, "Pointwise"},
});

constexpr bool names_follow_the_enumeration() {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (static_cast<size_t>(kNames[i].first) != i) return false;
  }
  return true;
}
static_assert(names_follow_the_enumeration());

}  // namespace

std::string_view to_string(OpKind kind) {
  return kNames[static_cast<size_t>(kind)].second;
}

std::optional<OpKind> parse_op_kind(std::string_view name) {
  for (const Named& row : kNames) {
    if (row.second == name) return row.first;
  }
  return std::nullopt;
}

const std::vector<OpKind>& all_op_kinds() {
  static const std::vector<OpKind> kinds = [] {
    std::vector<OpKind> all;
    for (const Named& row : kNames) all.push_back(row.first);
    return all;
  }();
  return kinds;
}

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, kPhaseCount> kPhases = {"upload", "warp", "history",
                                                                 "model", "download"};
  return kPhases[static_cast<size_t>(phase)];
}

}  // namespace modeld
