#include "runtime/program/op_schema.h"

#include <array>
#include <limits>

namespace modeld {
namespace {

using enum AttributeKind;

constexpr bool kRequired = true;
constexpr bool kOptional = false;
constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

constexpr std::span<const AttributeRule> kNoRules;

constexpr AttributeRule kActivation{"activation", kString, kOptional};
constexpr AttributeRule kActivationAlpha{"activation_alpha", kFloat, kOptional};
constexpr AttributeRule kActivationBeta{"activation_beta", kFloat, kOptional};
constexpr AttributeRule kStrides{"strides", kInts, kRequired};
constexpr AttributeRule kPads{"pads", kInts, kRequired};
constexpr AttributeRule kDilations{"dilations", kInts, kRequired};
constexpr AttributeRule kKernelShape{"kernel_shape", kInts, kRequired};
constexpr AttributeRule kCeilMode{"ceil_mode", kInt, kOptional};
constexpr AttributeRule kGroup{"group", kInt, kRequired};
constexpr AttributeRule kAxis{"axis", kInt, kRequired};
constexpr AttributeRule kAlpha{"alpha", kFloat, kRequired};
constexpr AttributeRule kBeta{"beta", kFloat, kRequired};
constexpr AttributeRule kKeepdims{"keepdims", kInt, kRequired};
constexpr AttributeRule kEpsilon{"epsilon", kFloat, kRequired};

constexpr AttributeRule kWarpRules[] = {{"layout", kString, kRequired},
                                        {"out_width", kInt, kRequired},
                                        {"out_height", kInt, kRequired},
                                        {"border_fill", kInt, kOptional},
                                        {"filter", kString, kOptional}};
constexpr AttributeRule kConvRules[] = {
    kStrides, kPads, kDilations, kGroup, kActivation, kActivationAlpha, kActivationBeta};
constexpr AttributeRule kConvIntegerRules[] = {kStrides, kPads, kDilations, kGroup};
constexpr AttributeRule kDirection{"direction", kString, kRequired};
constexpr AttributeRule kActivations{"activations", kString, kRequired};
constexpr AttributeRule kActivationAlphas{"activation_alpha", kFloats, kRequired};
constexpr AttributeRule kActivationBetas{"activation_beta", kFloats, kRequired};
constexpr AttributeRule kGateClip{"clip", kFloat, kOptional};
constexpr AttributeRule kRecurrentRules[] = {kDirection, kActivations, kActivationAlphas,
                                             kActivationBetas, kGateClip};
constexpr AttributeRule kGruRules[] = {kDirection,        kActivations,
                                       kActivationAlphas, kActivationBetas,
                                       kGateClip,         {"linear_before_reset", kInt, kRequired}};
constexpr AttributeRule kLstmRules[] = {kDirection,        kActivations,
                                        kActivationAlphas, kActivationBetas,
                                        kGateClip,         {"input_forget", kInt, kRequired}};
constexpr AttributeRule kConvTransposeRules[] = {
    kStrides, kPads,       kDilations,       {"output_padding", kInts, kRequired},
    kGroup,   kActivation, kActivationAlpha, kActivationBeta};
constexpr AttributeRule kGemmRules[] = {kAlpha,
                                        kBeta,
                                        {"trans_a", kInt, kRequired},
                                        {"trans_b", kInt, kRequired},
                                        kActivation,
                                        kActivationAlpha,
                                        kActivationBeta};
constexpr AttributeRule kMatMulRules[] = {kActivation, kActivationAlpha, kActivationBeta};
constexpr AttributeRule kClipRules[] = {{"min", kFloat, kOptional}, {"max", kFloat, kOptional}};
constexpr AttributeRule kAlphaRules[] = {kAlpha};
constexpr AttributeRule kAlphaBetaRules[] = {kAlpha, kBeta};
constexpr AttributeRule kGeluRules[] = {{"approximate", kString, kRequired}};
constexpr AttributeRule kModRules[] = {{"fmod", kInt, kOptional}};
constexpr AttributeRule kEpsilonRules[] = {kEpsilon};
constexpr AttributeRule kLayerNormRules[] = {kAxis, kEpsilon};
constexpr AttributeRule kAxisRules[] = {kAxis};
constexpr AttributeRule kReduceRules[] = {{"axes", kInts, kRequired}, kKeepdims};
constexpr AttributeRule kArgRules[] = {kAxis, kKeepdims, {"select_last_index", kInt, kOptional}};
constexpr AttributeRule kMaxPoolRules[] = {
    kKernelShape, kStrides, kPads, kDilations, kCeilMode, {"indices", kString, kOptional}};
constexpr AttributeRule kAveragePoolRules[] = {
    kKernelShape, kStrides, kPads, kDilations, kCeilMode, {"count_include_pad", kInt, kOptional}};
constexpr AttributeRule kResizeRules[] = {
    {"mode", kString, kRequired},         {"coordinate_transformation_mode", kString, kRequired},
    {"nearest_mode", kString, kOptional}, {"scales", kFloats, kRequired},
    {"sizes", kInts, kRequired},          {"roi", kFloats, kOptional},
    {"cubic_coeff_a", kFloat, kOptional}, {"antialias", kInt, kOptional},
    {"exclude_outside", kInt, kOptional}, {"extrapolation_value", kFloat, kOptional}};
constexpr AttributeRule kReduction{"reduction", kString, kRequired};
constexpr AttributeRule kCumSumRules[] = {
    kAxis, {"exclusive", kInt, kRequired}, {"reverse", kInt, kRequired}};
constexpr AttributeRule kGatherNdRules[] = {{"batch_dims", kInt, kRequired}};
constexpr AttributeRule kNonMaxSuppressionRules[] = {{"max_output", kInt, kRequired},
                                                     {"center_point_box", kInt, kRequired}};
constexpr AttributeRule kScatterElementsRules[] = {kAxis, kReduction};
constexpr AttributeRule kScatterNdRules[] = {kReduction};
constexpr AttributeRule kTopKRules[] = {
    kAxis, {"k", kInt, kRequired}, {"largest", kInt, kRequired}};
constexpr AttributeRule kCastRules[] = {{"to", kString, kRequired}};
constexpr AttributeRule kShapeRules[] = {{"shape", kInts, kRequired}};
constexpr AttributeRule kPadRules[] = {
    kPads, {"mode", kString, kRequired}, {"value", kFloat, kOptional}};
constexpr AttributeRule kSliceRules[] = {
    {"starts", kInts, kRequired}, {"steps", kInts, kRequired}, {"sizes", kInts, kRequired}};
constexpr AttributeRule kSplitRules[] = {kAxis, {"split", kInts, kRequired}};
constexpr AttributeRule kTileRules[] = {{"repeats", kInts, kRequired}};
constexpr AttributeRule kTransposeRules[] = {{"perm", kInts, kRequired}};

constexpr AttributeRule kAttentionRules[] = {{"q_perm", kInts, kOptional},
                                             {"k_perm", kInts, kOptional},
                                             {"v_perm", kInts, kOptional},
                                             {"y_perm", kInts, kOptional}};
constexpr AttributeRule kPointwiseRules[] = {
    {"ops", kString, kRequired},        {"words", kString, kRequired},
    {"counts", kInts, kRequired},       {"operands", kInts, kRequired},
    {"parameters", kFloats, kRequired}, {"results", kInts, kRequired}};

constexpr OpSchema row(OpKind kind, size_t min_inputs, size_t max_inputs,
                       std::span<const AttributeRule> attributes = kNoRules) {
  return {kind, min_inputs, max_inputs, 1, 1, attributes};
}

constexpr auto kSchemas = std::to_array<OpSchema>({
    row(OpKind::kWarp, 2, 2, kWarpRules),
    row(OpKind::kConv, 2, 4, kConvRules),
    row(OpKind::kConvInteger, 2, 4, kConvIntegerRules),
    row(OpKind::kConvTranspose, 2, 3, kConvTransposeRules),
    row(OpKind::kGemm, 2, 4, kGemmRules),
    row(OpKind::kMatMul, 2, 4, kMatMulRules),
    row(OpKind::kMatMulInteger, 2, 4),
    OpSchema{OpKind::kGru, 3, 6, 2, 2, kGruRules},
    OpSchema{OpKind::kLstm, 3, 8, 3, 3, kLstmRules},
    OpSchema{OpKind::kRnn, 3, 6, 2, 2, kRecurrentRules},
    row(OpKind::kAbs, 1, 1),
    row(OpKind::kAcos, 1, 1),
    row(OpKind::kAcosh, 1, 1),
    row(OpKind::kAsin, 1, 1),
    row(OpKind::kAsinh, 1, 1),
    row(OpKind::kAtan, 1, 1),
    row(OpKind::kAtanh, 1, 1),
    row(OpKind::kCeil, 1, 1),
    row(OpKind::kClip, 1, 1, kClipRules),
    row(OpKind::kCos, 1, 1),
    row(OpKind::kCosh, 1, 1),
    row(OpKind::kElu, 1, 1, kAlphaRules),
    row(OpKind::kErf, 1, 1),
    row(OpKind::kExp, 1, 1),
    row(OpKind::kFloor, 1, 1),
    row(OpKind::kGelu, 1, 1, kGeluRules),
    row(OpKind::kHardSigmoid, 1, 1, kAlphaBetaRules),
    row(OpKind::kHardSwish, 1, 1),
    row(OpKind::kLeakyRelu, 1, 1, kAlphaRules),
    row(OpKind::kLog, 1, 1),
    row(OpKind::kMish, 1, 1),
    row(OpKind::kNeg, 1, 1),
    row(OpKind::kNot, 1, 1),
    row(OpKind::kReciprocal, 1, 1),
    row(OpKind::kRelu, 1, 1),
    row(OpKind::kRound, 1, 1),
    row(OpKind::kSigmoid, 1, 1),
    row(OpKind::kSign, 1, 1),
    row(OpKind::kSilu, 1, 1),
    row(OpKind::kSin, 1, 1),
    row(OpKind::kSinh, 1, 1),
    row(OpKind::kSoftplus, 1, 1),
    row(OpKind::kSqrt, 1, 1),
    row(OpKind::kTan, 1, 1),
    row(OpKind::kTanh, 1, 1),
    row(OpKind::kAdd, 2, 2),
    row(OpKind::kAnd, 2, 2),
    row(OpKind::kDiv, 2, 2),
    row(OpKind::kEqual, 2, 2),
    row(OpKind::kGreater, 2, 2),
    row(OpKind::kGreaterOrEqual, 2, 2),
    row(OpKind::kLess, 2, 2),
    row(OpKind::kLessOrEqual, 2, 2),
    row(OpKind::kMax, 1, kAnyNumber),
    row(OpKind::kMin, 1, kAnyNumber),
    row(OpKind::kMod, 2, 2, kModRules),
    row(OpKind::kMul, 2, 2),
    row(OpKind::kOr, 2, 2),
    row(OpKind::kPow, 2, 2),
    row(OpKind::kPRelu, 2, 2),
    row(OpKind::kSub, 2, 2),
    row(OpKind::kWhere, 3, 3),
    row(OpKind::kBatchNormalization, 5, 5, kEpsilonRules),
    row(OpKind::kLayerNormalization, 1, 3, kLayerNormRules),
    row(OpKind::kLogSoftmax, 1, 1, kAxisRules),
    row(OpKind::kRmsNormalization, 1, 2, kLayerNormRules),
    row(OpKind::kSoftmax, 1, 1, kAxisRules),
    row(OpKind::kCumSum, 1, 1, kCumSumRules),
    row(OpKind::kReduceL1, 1, 1, kReduceRules),
    row(OpKind::kReduceL2, 1, 1, kReduceRules),
    row(OpKind::kReduceLogSumExp, 1, 1, kReduceRules),
    row(OpKind::kReduceMax, 1, 1, kReduceRules),
    row(OpKind::kReduceMean, 1, 1, kReduceRules),
    row(OpKind::kReduceMin, 1, 1, kReduceRules),
    row(OpKind::kReduceProd, 1, 1, kReduceRules),
    row(OpKind::kReduceSum, 1, 1, kReduceRules),
    row(OpKind::kReduceSumSquare, 1, 1, kReduceRules),
    row(OpKind::kArgMax, 1, 1, kArgRules),
    row(OpKind::kArgMin, 1, 1, kArgRules),
    row(OpKind::kAveragePool, 1, 1, kAveragePoolRules),
    OpSchema{OpKind::kMaxPool, 1, 1, 1, 2, kMaxPoolRules},
    row(OpKind::kResize, 1, 1, kResizeRules),
    row(OpKind::kDequantizeLinear, 2, 3, kCastRules),
    row(OpKind::kQuantizeLinear, 2, 3, kCastRules),
    row(OpKind::kGatherElements, 2, 2, kAxisRules),
    row(OpKind::kGatherNd, 2, 2, kGatherNdRules),
    row(OpKind::kNonMaxSuppression, 2, 4, kNonMaxSuppressionRules),
    row(OpKind::kScatterElements, 3, 3, kScatterElementsRules),
    row(OpKind::kScatterNd, 3, 3, kScatterNdRules),
    OpSchema{OpKind::kTopK, 1, 1, 2, 2, kTopKRules},
    row(OpKind::kCast, 1, 1, kCastRules),
    row(OpKind::kConcat, 1, kAnyNumber, kAxisRules),
    row(OpKind::kExpand, 1, 1, kShapeRules),
    row(OpKind::kGather, 2, 2, kAxisRules),
    row(OpKind::kPad, 1, 1, kPadRules),
    row(OpKind::kReshape, 1, 1, kShapeRules),
    row(OpKind::kSlice, 1, 1, kSliceRules),
    OpSchema{OpKind::kSplit, 1, 1, 1, kAnyNumber, kSplitRules},
    row(OpKind::kTile, 1, 1, kTileRules),
    row(OpKind::kTranspose, 1, 1, kTransposeRules),
    row(OpKind::kAttention, 3, 5, kAttentionRules),
    OpSchema{OpKind::kPointwise, 1, kAnyNumber, 1, kAnyNumber, kPointwiseRules},
});

constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < kSchemas.size(); ++i) {
    if (static_cast<size_t>(kSchemas[i].kind) != i) return false;
  }
  return kSchemas.size() == static_cast<size_t>(OpKind::kPointwise) + 1;
}
static_assert(rows_follow_the_enumeration());

}  // namespace

const OpSchema& op_schema(OpKind kind) {
  return kSchemas[static_cast<size_t>(kind)];
}

}  // namespace modeld
