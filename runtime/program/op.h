// The operations a program may hold. What each means: OPS.md beside this file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/attributes.h"
#include "runtime/program/tensor.h"

namespace modeld {

enum class OpKind : uint16_t {
  kWarp,
  // Heavy
  kConv,
  kConvInteger,
  kConvTranspose,
  kGemm,
  kMatMul,
  kMatMulInteger,
  kGru,
  kLstm,
  kRnn,
  // One input, element by element
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kClip,
  kCos,
  kCosh,
  kElu,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLog,
  kMish,
  kNeg,
  kNot,
  kReciprocal,
  kRelu,
  kRound,
  kSigmoid,
  kSign,
  kSilu,
  kSin,
  kSinh,
  kSoftplus,
  kSqrt,
  kTan,
  kTanh,
  // Two inputs (Max and Min: one or more), broadcast
  kAdd,
  kAnd,
  kDiv,
  kEqual,
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kMax,
  kMin,
  kMod,
  kMul,
  kOr,
  kPow,
  kPRelu,
  kSub,
  kWhere,
  // Normalisation and reduction
  kBatchNormalization,
  kLayerNormalization,
  kLogSoftmax,
  kRmsNormalization,
  kSoftmax,
  kCumSum,
  kReduceL1,
  kReduceL2,
  kReduceLogSumExp,
  kReduceMax,
  kReduceMean,
  kReduceMin,
  kReduceProd,
  kReduceSum,
  kReduceSumSquare,
  kArgMax,
  kArgMin,
  // Windows
  kAveragePool,
  kMaxPool,
  kResize,
  // Integers for floats
  kDequantizeLinear,
  kQuantizeLinear,
  // Places by index
  kGatherElements,
  kGatherNd,
  kNonMaxSuppression,
  kScatterElements,
  kScatterNd,
  kTopK,
  // Moving data
  kCast,
  kConcat,
  kExpand,
  kGather,
  kPad,
  kReshape,
  kSlice,
  kSplit,
  kTile,
  kTranspose,
  // Compound: defined by other ops (expand.h)
  kAttention,
  kPointwise,
};

// The names are written into artifacts: they never change.
std::string_view to_string(OpKind kind);
std::optional<OpKind> parse_op_kind(std::string_view name);
// Every kind, in the order of the enumeration.
const std::vector<OpKind>& all_op_kinds();

// Which part of a frame's way an op belongs to; latency is reported by phase.
enum class Phase : uint8_t { kUpload, kWarp, kHistory, kModel, kDownload };
constexpr size_t kPhaseCount = 5;
std::string_view to_string(Phase phase);  // "upload", "warp", "history", "model", "download"

struct Op {
  OpKind kind = OpKind::kReshape;
  std::string name;              // the source node's name, for people
  std::vector<TensorId> inputs;  // kNoTensor where an optional input is left out
  std::vector<TensorId> outputs;
  Attributes attributes;
  Phase phase = Phase::kModel;  // kWarp, kHistory or kModel
};

}  // namespace modeld
