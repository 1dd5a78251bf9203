// Every op on random values: a backend's capture against the reference interpreter's answer for
// the same bytes, with all inputs fed and with all but the first as constants.
#include <cmath>
#include <set>

#include "runtime/program/seeded_inputs.h"
#include "runtime/reference/evaluate.h"
#include "tests/conformance/backend_suite.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

constexpr DType kF32 = DType::kFloat32;

struct OpCase {
  OpKind kind;
  Attributes::Map attributes;
  std::vector<TensorType> inputs;
  bool positive = false;  // values above 0 only: divisors, variances, arguments of log
};

std::string name_of(const OpCase& one) {
  std::string text(to_string(one.kind));
  for (const TensorType& type : one.inputs) text += " " + to_string(type);
  return text;
}

std::vector<OpCase> over_dtypes(std::initializer_list<DType> dtypes, OpKind kind,
                                const Attributes::Map& attributes, const std::vector<Shape>& shapes,
                                bool positive = false) {
  std::vector<OpCase> cases;
  for (const DType dtype : dtypes) {
    OpCase one{kind, attributes, {}, positive};
    for (const Shape& shape : shapes) one.inputs.push_back({dtype, shape});
    cases.push_back(one);
  }
  return cases;
}

class Cases {
 public:
  void add(std::vector<OpCase> more) { all_.insert(all_.end(), more.begin(), more.end()); }
  void floats(OpKind kind, const Attributes::Map& attributes, const std::vector<Shape>& shapes,
              bool positive = false) {
    add(over_dtypes({kF32, DType::kFloat16, DType::kBFloat16, DType::kFloat64}, kind, attributes,
                    shapes, positive));
  }
  void numbers(OpKind kind, const Attributes::Map& attributes, const std::vector<Shape>& shapes,
               bool positive = false) {
    floats(kind, attributes, shapes, positive);
    add(over_dtypes({DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64}, kind, attributes,
                    shapes, positive));
  }
  void anything(OpKind kind, const Attributes::Map& attributes, const std::vector<Shape>& shapes) {
    numbers(kind, attributes, shapes);
    add(over_dtypes({DType::kBool, DType::kInt16, DType::kUInt16, DType::kUInt32, DType::kUInt64},
                    kind, attributes, shapes));
  }
  void flags(OpKind kind, const std::vector<Shape>& shapes) {
    add(over_dtypes({DType::kBool}, kind, {}, shapes));
  }
  const std::vector<OpCase>& all() const { return all_; }

 private:
  std::vector<OpCase> all_;
};

Attributes::Map conv(Ints strides, Ints pads, Ints dilations, int64_t group) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", std::move(dilations)},
          {"group", group}};
}

Attributes::Map with_activation(Attributes::Map map, const std::string& name) {
  map["activation"] = name;
  const std::set<std::string> two = {"Clip", "HardSigmoid"};
  const std::set<std::string> one = {"LeakyRelu", "Elu"};
  if (two.contains(name) || one.contains(name)) {
    map["activation_alpha"] = name == "Clip" ? -0.5 : 0.2;
  }
  if (two.contains(name)) map["activation_beta"] = 0.5;
  return map;
}

void add_unary(Cases& cases) {
  const std::vector<Shape> shapes = {{2, 3, 35}};
  for (const OpKind kind : {OpKind::kAsinh, OpKind::kAtan, OpKind::kCos, OpKind::kCosh,
                            OpKind::kMish, OpKind::kSin, OpKind::kSinh, OpKind::kTan}) {
    cases.floats(kind, {}, shapes);
  }
  // Beyond -1..1 both sides answer NaN.
  for (const OpKind kind : {OpKind::kAcos, OpKind::kAsin, OpKind::kAtanh}) {
    cases.add(over_dtypes({kF32, DType::kFloat64}, kind, {}, shapes));
  }
  cases.floats(OpKind::kAcosh, {}, shapes, true);
  cases.floats(OpKind::kSign, {}, shapes);
  cases.add(over_dtypes({DType::kInt8, DType::kUInt8, DType::kInt64}, OpKind::kSign, {}, shapes));
  for (const OpKind kind : {OpKind::kCeil, OpKind::kErf, OpKind::kExp, OpKind::kFloor,
                            OpKind::kHardSwish, OpKind::kReciprocal, OpKind::kRound,
                            OpKind::kSigmoid, OpKind::kSilu, OpKind::kSoftplus, OpKind::kTanh}) {
    cases.floats(kind, {}, shapes);
  }
  for (const OpKind kind : {OpKind::kLog, OpKind::kSqrt}) cases.floats(kind, {}, shapes, true);
  cases.numbers(OpKind::kAbs, {}, shapes);
  cases.numbers(OpKind::kClip, {{"min", -0.5}, {"max", 7.25}}, shapes);
  cases.floats(OpKind::kElu, {{"alpha", 0.7}}, shapes);
  cases.floats(OpKind::kLeakyRelu, {{"alpha", 0.1}}, shapes);
  cases.floats(OpKind::kHardSigmoid, {{"alpha", 0.25}, {"beta", 0.4}}, shapes);
  cases.floats(OpKind::kGelu, {{"approximate", std::string("none")}}, shapes);
  cases.floats(OpKind::kGelu, {{"approximate", std::string("tanh")}}, shapes);
  for (const OpKind kind : {OpKind::kNeg, OpKind::kRelu}) {
    cases.floats(kind, {}, shapes);
    cases.add(over_dtypes({DType::kInt8, DType::kInt32, DType::kInt64}, kind, {}, shapes));
  }
  cases.flags(OpKind::kNot, shapes);
}

void add_binary(Cases& cases) {
  for (const std::vector<Shape>& shapes : std::vector<std::vector<Shape>>{{{2, 3, 35}, {2, 3, 35}},
                                                                          {{2, 3, 4, 5}, {3, 1, 1}},
                                                                          {{2, 1, 5}, {4, 1}},
                                                                          {{1}, {2, 33}}}) {
    for (const OpKind kind :
         {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMax, OpKind::kMin, OpKind::kEqual,
          OpKind::kGreater, OpKind::kGreaterOrEqual, OpKind::kLess, OpKind::kLessOrEqual}) {
      cases.numbers(kind, {}, shapes);
    }
    cases.numbers(OpKind::kDiv, {}, shapes, true);
    cases.numbers(OpKind::kMod, {{"fmod", int64_t{1}}}, shapes, true);
    cases.floats(OpKind::kPow, {}, shapes, true);
    cases.flags(OpKind::kAnd, shapes);
    cases.flags(OpKind::kOr, shapes);
  }
  cases.numbers(OpKind::kMax, {}, {{3, 1}, {1, 4}, {4}});
  cases.floats(OpKind::kPRelu, {}, {{2, 3, 4}, {3, 1}});
  cases.add(
      {{OpKind::kWhere, {}, {{DType::kBool, {3, 1}}, {kF32, {2, 3, 4}}, {kF32, {4}}}},
       {OpKind::kWhere, {}, {{DType::kBool, {4}}, {DType::kInt64, {}}, {DType::kInt64, {2, 4}}}}});
}

void add_convolutions(Cases& cases) {
  const auto plain = conv({1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
  const std::vector<Shape> small = {{2, 6, 9, 11}, {8, 6, 3, 3}, {8}};
  cases.floats(OpKind::kConv, plain, small);
  cases.floats(OpKind::kConv, conv({2, 1}, {0, 2, 1, 0}, {1, 2}, 2),
               {{1, 6, 9, 11}, {4, 3, 3, 2}, {4}});
  cases.floats(OpKind::kConv, conv({2, 2}, {2, 2, 2, 2}, {1, 1}, 16),
               {{1, 16, 10, 10}, {16, 1, 5, 5}, {16}});
  cases.floats(OpKind::kConv, conv({1, 1}, {0, 0, 0, 0}, {1, 1}, 1),
               {{1, 32, 7, 5}, {24, 32, 1, 1}});
  cases.floats(OpKind::kConv, conv({2}, {1, 0}, {1}, 1), {{2, 3, 17}, {5, 3, 4}, {5}});
  cases.floats(OpKind::kConv, plain,
               {{1, 6, 9, 11}, {8, 6, 3, 3}, {8}, {1, 8, 9, 11}});  // with a residual
  for (const char* activation : {"Relu", "Clip", "Sigmoid", "Tanh", "Silu", "Gelu", "GeluTanh",
                                 "HardSwish", "HardSigmoid", "LeakyRelu", "Elu"}) {
    const auto fused = with_activation(plain, activation);
    cases.add(over_dtypes({kF32}, OpKind::kConv, fused, small));
    cases.add(over_dtypes({kF32}, OpKind::kConv, fused,
                          {{1, 6, 9, 11}, {8, 6, 3, 3}, {8}, {1, 8, 9, 11}}));
    cases.add(over_dtypes({kF32}, OpKind::kMatMul, with_activation({}, activation),
                          {{3, 17}, {17, 5}, {5}, {3, 5}}));
  }
  auto transposed = conv({2, 3}, {1, 0, 0, 1}, {1, 2}, 2);
  transposed["output_padding"] = Ints{1, 0};
  cases.floats(OpKind::kConvTranspose, transposed, {{1, 4, 5, 6}, {4, 3, 3, 2}, {6}});
  auto upsampling = conv({2, 2}, {0, 0, 0, 0}, {1, 1}, 1);
  upsampling["output_padding"] = Ints{0, 0};
  cases.floats(OpKind::kConvTranspose, with_activation(upsampling, "Relu"),
               {{1, 16, 8, 8}, {16, 8, 2, 2}, {8}});
}

void add_products(Cases& cases) {
  for (const int64_t trans_a : {0, 1}) {
    for (const int64_t trans_b : {0, 1}) {
      const Attributes::Map gemm = {
          {"alpha", 0.5}, {"beta", 2.0}, {"trans_a", trans_a}, {"trans_b", trans_b}};
      const Shape a = trans_a != 0 ? Shape{19, 3} : Shape{3, 19};
      const Shape b = trans_b != 0 ? Shape{7, 19} : Shape{19, 7};
      cases.floats(OpKind::kGemm, gemm, {a, b});
      cases.floats(OpKind::kGemm, gemm, {a, b, {7}});
      cases.floats(OpKind::kGemm, with_activation(gemm, "Relu"), {a, b, {3, 1}, {3, 7}});
    }
  }
  cases.floats(OpKind::kMatMul, {}, {{2, 3, 5, 17}, {3, 17, 4}});
  cases.floats(OpKind::kMatMul, {}, {{33}, {2, 33, 4}, {4}});
  cases.floats(OpKind::kMatMul, {}, {{2, 5, 33}, {33}});
  cases.floats(OpKind::kMatMul, {}, {{9}, {9}});
  cases.add(over_dtypes({DType::kInt32, DType::kUInt64}, OpKind::kMatMul, {}, {{3, 5}, {5, 4}}));
}

void add_normalisations(Cases& cases) {
  cases.floats(OpKind::kBatchNormalization, {{"epsilon", 1e-3}}, {{2, 5, 6, 7}, {5}, {5}, {5}, {5}},
               true);
  cases.floats(OpKind::kLayerNormalization, {{"axis", int64_t{2}}, {"epsilon", 1e-5}},
               {{2, 3, 40}, {40}, {40}});
  cases.floats(OpKind::kLayerNormalization, {{"axis", int64_t{1}}, {"epsilon", 1e-5}},
               {{2, 3, 4}, {3, 4}});
  for (const int64_t axis : {0, 1, 2}) {
    cases.floats(OpKind::kSoftmax, {{"axis", axis}}, {{3, 4, 50}});
  }
  const std::vector<Ints> axes = {{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (const OpKind kind :
       {OpKind::kReduceL1, OpKind::kReduceL2, OpKind::kReduceMax, OpKind::kReduceMean,
        OpKind::kReduceMin, OpKind::kReduceProd, OpKind::kReduceSum, OpKind::kReduceSumSquare}) {
    for (const Ints& over : axes) {
      cases.add(over_dtypes({kF32, DType::kFloat16}, kind,
                            {{"axes", over}, {"keepdims", int64_t{1}}}, {{3, 4, 10}}));
    }
    cases.add(over_dtypes({DType::kInt32, DType::kInt64, DType::kUInt8}, kind,
                          {{"axes", Ints{1}}, {"keepdims", int64_t{0}}}, {{3, 4, 10}}));
  }
  for (const OpKind kind : {OpKind::kArgMax, OpKind::kArgMin}) {
    for (const int64_t last : {0, 1}) {
      cases.numbers(kind, {{"axis", int64_t{1}}, {"keepdims", last}, {"select_last_index", last}},
                    {{3, 8, 5}});
    }
  }
}

void add_more_normalisations(Cases& cases) {
  const Attributes::Map last = {{"axis", int64_t{2}}, {"epsilon", 1e-5}};
  cases.floats(OpKind::kLayerNormalization, last, {{2, 3, 40}});
  cases.floats(OpKind::kRmsNormalization, last, {{2, 3, 40}});
  cases.floats(OpKind::kRmsNormalization, {{"axis", int64_t{1}}, {"epsilon", 1e-5}},
               {{2, 3, 4}, {3, 4}});
  for (const int64_t axis : {0, 1, 2}) {
    cases.floats(OpKind::kLogSoftmax, {{"axis", axis}}, {{3, 4, 50}});
    cases.floats(OpKind::kReduceLogSumExp, {{"axes", Ints{axis}}, {"keepdims", int64_t{1}}},
                 {{3, 4, 50}});
    for (const int64_t flag : {0, 1}) {
      cases.numbers(OpKind::kCumSum, {{"axis", axis}, {"exclusive", flag}, {"reverse", 1 - flag}},
                    {{3, 4, 5}});
    }
  }
}

void add_quantised(Cases& cases) {
  for (const DType type : {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16}) {
    const Attributes::Map to = {{"to", std::string(to_string(type))}};
    cases.add({{OpKind::kQuantizeLinear, to, {{kF32, {2, 3, 40}}, {kF32, {}}, {type, {}}}, true},
               {OpKind::kQuantizeLinear, to, {{kF32, {2, 3, 40}}, {kF32, {3, 1}}}, true},
               {OpKind::kQuantizeLinear,
                to,
                {{kF32, {2, 3, 4}}, {kF32, {2, 3, 4}}, {type, {3, 1}}},
                true}});
    const Attributes::Map back = {{"to", std::string("f32")}};
    cases.add({{OpKind::kDequantizeLinear, back, {{type, {2, 3, 40}}, {kF32, {}}, {type, {}}}},
               {OpKind::kDequantizeLinear, back, {{type, {2, 3, 40}}, {kF32, {3, 1}}}},
               {OpKind::kDequantizeLinear,
                {{"to", std::string("f16")}},
                {{type, {2, 3}}, {DType::kFloat16, {}}}}});
  }
  for (const DType a : {DType::kInt8, DType::kUInt8}) {
    for (const DType b : {DType::kInt8, DType::kUInt8}) {
      cases.add({{OpKind::kMatMulInteger, {}, {{a, {5, 37}}, {b, {37, 11}}, {a, {}}, {b, {11}}}},
                 {OpKind::kMatMulInteger, {}, {{a, {2, 5, 7}}, {b, {2, 7, 3}}, {a, {5, 1}}}},
                 {OpKind::kConvInteger,
                  conv({2, 1}, {0, 2, 1, 0}, {1, 2}, 2),
                  {{a, {2, 6, 9, 11}}, {b, {4, 3, 3, 2}}, {a, {}}, {b, {4}}}},
                 {OpKind::kConvInteger,
                  conv({1}, {1, 1}, {1}, 8),
                  {{a, {1, 8, 30}}, {b, {8, 1, 3}}, {a, {}}, {b, {}}}}});
    }
  }
}

void add_recurrent(Cases& cases) {
  const auto recurrent = [](const std::string& direction, const std::string& names, size_t count) {
    return Attributes::Map{{"direction", direction},
                           {"activations", names},
                           {"activation_alpha", Floats(count, 0.3)},
                           {"activation_beta", Floats(count, 0.4)}};
  };
  const auto shapes = [](int64_t directions, int64_t gates, size_t states) {
    std::vector<TensorType> types = {{kF32, {5, 3, 6}},
                                     {kF32, {directions, gates * 7, 6}},
                                     {kF32, {directions, gates * 7, 7}},
                                     {kF32, {directions, 2 * gates * 7}},
                                     {DType::kInt32, {3}}};
    for (size_t i = 0; i < states; ++i) types.push_back({kF32, {directions, 3, 7}});
    return types;
  };
  for (const char* direction : {"forward", "reverse"}) {
    cases.add({{OpKind::kRnn, recurrent(direction, "Tanh", 1), shapes(1, 1, 1)}});
  }
  cases.add({{OpKind::kRnn, recurrent("bidirectional", "Affine,Relu", 2), shapes(2, 1, 1)}});
  for (const int64_t flag : {0, 1}) {
    auto gru = recurrent("bidirectional", "Sigmoid,Tanh,HardSigmoid,LeakyRelu", 4);
    gru["linear_before_reset"] = flag;
    cases.add({{OpKind::kGru, gru, shapes(2, 3, 1)}});
    auto lstm = recurrent("bidirectional", "Sigmoid,Tanh,Tanh,HardSigmoid,Elu,Softplus", 6);
    lstm["input_forget"] = flag;
    if (flag != 0) lstm["clip"] = 0.7;
    OpCase one{OpKind::kLstm, lstm, shapes(2, 4, 2)};
    cases.add({one});
    one.inputs.push_back({kF32, {2, 21}});
    cases.add({one});
  }
  auto half = recurrent("forward", "Sigmoid,Tanh,Tanh", 3);
  half["input_forget"] = int64_t{0};
  cases.add(over_dtypes({DType::kFloat16, DType::kFloat64}, OpKind::kLstm, half,
                        {{4, 2, 3}, {1, 20, 3}, {1, 20, 5}, {1, 40}}));
}

void add_indexed(Cases& cases) {
  const DType index = DType::kInt64;  // seeded integers are 0..15
  cases.add(
      {{OpKind::kGatherElements, {{"axis", int64_t{0}}}, {{kF32, {16, 3}}, {index, {4, 3}}}},
       {OpKind::kGatherElements,
        {{"axis", int64_t{1}}},
        {{DType::kUInt8, {3, 16}}, {DType::kInt32, {2, 5}}}},
       {OpKind::kGatherNd, {{"batch_dims", int64_t{0}}}, {{kF32, {16, 16, 3}}, {index, {4, 2}}}},
       {OpKind::kGatherNd,
        {{"batch_dims", int64_t{1}}},
        {{DType::kInt32, {2, 16, 3}}, {index, {2, 5, 1}}}}});
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    for (const DType type : {kF32, DType::kFloat16, DType::kInt8, DType::kUInt32}) {
      cases.add({{OpKind::kScatterElements,
                  {{"axis", int64_t{0}}, {"reduction", std::string(reduction)}},
                  {{type, {16, 3}}, {index, {20, 3}}, {type, {20, 3}}}},
                 {OpKind::kScatterNd,
                  {{"reduction", std::string(reduction)}},
                  {{type, {16, 3}}, {index, {7, 1}}, {type, {7, 3}}}}});
    }
  }
  for (const int64_t largest : {0, 1}) {
    cases.numbers(OpKind::kTopK, {{"axis", int64_t{1}}, {"k", int64_t{3}}, {"largest", largest}},
                  {{2, 9, 4}});
    cases.add({{OpKind::kNonMaxSuppression,
                {{"max_output", int64_t{4}}, {"center_point_box", largest}},
                {{kF32, {2, 30, 4}}, {kF32, {2, 3, 30}}, {kF32, {}}, {kF32, {1}}},
                true}});
  }
}

void add_windows(Cases& cases) {
  Attributes::Map places = {{"kernel_shape", Ints{3, 2}},
                            {"strides", Ints{2, 2}},
                            {"pads", Ints{1, 0, 1, 1}},
                            {"dilations", Ints{1, 1}},
                            {"indices", std::string("row_major")}};
  cases.floats(OpKind::kMaxPool, places, {{2, 3, 10, 11}});
  places["indices"] = std::string("column_major");
  cases.floats(OpKind::kMaxPool, places, {{2, 3, 10, 11}});
  for (const char* mode : {"linear", "cubic"}) {
    cases.add(over_dtypes({kF32}, OpKind::kResize,
                          {{"mode", std::string(mode)},
                           {"coordinate_transformation_mode", std::string("half_pixel")},
                           {"antialias", int64_t{1}},
                           {"scales", Floats{1, 1, 0.4, 0.5}},
                           {"sizes", Ints{1, 2, 4, 6}}},
                          {{1, 2, 10, 12}}));
  }
  cases.add(over_dtypes({kF32}, OpKind::kResize,
                        {{"mode", std::string("nearest")},
                         {"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")},
                         {"nearest_mode", std::string("floor")},
                         {"scales", Floats{1, 1, 0.4, 2}},
                         {"sizes", Ints{1, 2, 4, 24}}},
                        {{1, 2, 10, 12}}));
  for (const int64_t ceil : {0, 1}) {
    Attributes::Map pool = {{"kernel_shape", Ints{3, 2}},
                            {"strides", Ints{2, 2}},
                            {"pads", Ints{1, 0, 1, 1}},
                            {"dilations", Ints{1, 1}},
                            {"ceil_mode", ceil}};
    cases.floats(OpKind::kMaxPool, pool, {{2, 3, 10, 11}});
    cases.add(over_dtypes({DType::kUInt8, DType::kInt8}, OpKind::kMaxPool, pool, {{1, 3, 9, 9}}));
    cases.floats(OpKind::kAveragePool, pool, {{2, 3, 10, 11}});
    pool["count_include_pad"] = int64_t{1};
    cases.floats(OpKind::kAveragePool, pool, {{2, 3, 10, 11}});
  }
  Attributes::Map dilated = {{"kernel_shape", Ints{2}},
                             {"strides", Ints{1}},
                             {"pads", Ints{0, 0}},
                             {"dilations", Ints{3}}};
  cases.floats(OpKind::kMaxPool, dilated, {{1, 2, 12}});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners",
                                    "pytorch_half_pixel", "half_pixel_symmetric"}) {
      const Attributes::Map resize = {{"mode", std::string(mode)},
                                      {"coordinate_transformation_mode", std::string(coordinates)},
                                      {"nearest_mode", std::string("floor")},
                                      {"scales", Floats{1, 1, 2, 0.5}},
                                      {"sizes", Ints{1, 3, 10, 4}}};
      cases.add(over_dtypes({kF32, DType::kFloat16}, OpKind::kResize, resize, {{1, 3, 5, 8}}));
    }
  }
}

void add_moves(Cases& cases) {
  for (const char* to : {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64",
                         "u64", "bool"}) {
    cases.anything(OpKind::kCast, {{"to", std::string(to)}}, {{3, 40}});
  }
  cases.anything(OpKind::kConcat, {{"axis", int64_t{1}}}, {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}});
  cases.anything(OpKind::kConcat, {{"axis", int64_t{0}}}, {{2, 3}, {1, 3}});
  cases.anything(OpKind::kExpand, {{"shape", Ints{2, 3, 4}}}, {{3, 1}});
  cases.anything(OpKind::kReshape, {{"shape", Ints{4, 6}}}, {{2, 3, 4}});
  cases.anything(OpKind::kSlice,
                 {{"starts", Ints{1, 4, 0}}, {"steps", Ints{1, -2, 3}}, {"sizes", Ints{1, 3, 2}}},
                 {{2, 5, 6}});
  cases.anything(OpKind::kSplit, {{"axis", int64_t{1}}, {"split", Ints{1, 4, 2}}}, {{2, 7, 3}});
  cases.anything(OpKind::kTile, {{"repeats", Ints{2, 1, 3}}}, {{2, 3, 2}});
  cases.anything(OpKind::kTranspose, {{"perm", Ints{0, 2, 3, 1}}}, {{2, 3, 4, 5}});
  cases.anything(OpKind::kTranspose, {{"perm", Ints{2, 0, 1}}}, {{2, 3, 4}});
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    cases.anything(OpKind::kPad,
                   {{"mode", std::string(mode)}, {"pads", Ints{0, 2, 1, 1}}, {"value", 3.0}},
                   {{3, 4}});
  }
  for (const DType index : {DType::kInt32, DType::kInt64}) {
    // Seeded integers are 0..15.
    cases.add({{OpKind::kGather, {{"axis", int64_t{1}}}, {{kF32, {2, 16, 3}}, {index, {2, 2}}}},
               {OpKind::kGather, {{"axis", int64_t{0}}}, {{DType::kUInt8, {16}}, {index, {5}}}}});
  }
}

void add_compound(Cases& cases) {
  // Heads inside the last but one axis, keys as they are projected, with and without a mask.
  const Attributes::Map by_heads = {{"q_perm", Ints{0, 2, 1, 3}},
                                    {"k_perm", Ints{0, 2, 3, 1}},
                                    {"v_perm", Ints{0, 2, 1, 3}},
                                    {"y_perm", Ints{0, 2, 1, 3}}};
  // Half types round scores, and the exponential shows that: ONNX's own cases are theirs.
  for (const DType type : {kF32, DType::kFloat64}) {
    const auto add = [&](const Attributes::Map& attributes, const std::vector<Shape>& shapes) {
      cases.add(over_dtypes({type}, OpKind::kAttention, attributes, shapes));
    };
    add(by_heads, {{2, 5, 3, 4}, {2, 7, 3, 4}, {2, 7, 3, 6}});
    add(by_heads, {{1, 40, 2, 16}, {1, 40, 2, 16}, {1, 40, 2, 16}, {}, {2, 1, 40}});
    add({}, {{33, 8}, {8, 50}, {50, 3}, {}, {33, 50}});
    add({{"k_perm", Ints{0, 2, 1}}}, {{3, 1, 8}, {3, 300, 8}, {3, 300, 8}});
  }
  // (x - a) * silu(x), and the difference bounded as an output of its own.
  const Attributes::Map body = {{"ops", std::string("Sub,Silu,Mul,Clip")},
                                {"words", std::string(",,,")},
                                {"counts", Ints{2, 1, 2, 1}},
                                {"operands", Ints{0, 1, 0, 2, 3, 2}},
                                {"parameters", Floats{-0.5, 0.5}},
                                {"results", Ints{2, 3}}};
  cases.floats(OpKind::kPointwise, body, {{2, 3, 5, 7}, {3, 1, 1}});
  cases.floats(OpKind::kPointwise, body, {{2, 3, 50, 70}, {1}});
  cases.floats(OpKind::kPointwise, body, {{4, 600}, {600}});
  const Attributes::Map requantise = {{"ops", std::string("DequantizeLinear,PRelu,QuantizeLinear")},
                                      {"words", std::string("f32,,i8")},
                                      {"counts", Ints{3, 2, 3}},
                                      {"operands", Ints{0, 1, 2, 6, 3, 7, 4, 5}},
                                      {"parameters", Floats{}},
                                      {"results", Ints{2}}};
  cases.add({{OpKind::kPointwise,
              requantise,
              {{DType::kUInt8, {1, 6, 20, 30}},
               {kF32, {}},
               {DType::kUInt8, {}},
               {kF32, {6, 1, 1}},
               {kF32, {}},
               {DType::kInt8, {}}},
              true}});
}

const Cases& all_cases() {
  static const Cases cases = [] {
    Cases made;
    add_unary(made);
    add_binary(made);
    add_convolutions(made);
    add_products(made);
    add_normalisations(made);
    add_more_normalisations(made);
    add_quantised(made);
    add_recurrent(made);
    add_indexed(made);
    add_windows(made);
    add_moves(made);
    add_compound(made);
    return made;
  }();
  return cases;
}

HostTensor random_tensor(const TensorType& type, bool positive, uint64_t seed, uint32_t stream) {
  HostTensor tensor{type, std::vector<std::byte>(type.bytes())};
  fill_seeded(tensor.bytes, type.dtype, seed, stream, 0);
  if (!positive) return tensor;
  Floats values = to_doubles(type.dtype, tensor.bytes);
  for (double& value : values) value = std::fabs(value) / 2 + 1;
  tensor.bytes = to_bytes(type.dtype, values);
  return tensor;
}

struct Tolerances {
  double absolute = 0;
  double relative = 0;
};

Tolerances tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
      return {2e-5, 1e-4};
    case DType::kFloat16:
      return {2e-3, 1e-2};
    case DType::kBFloat16:
      return {2e-2, 3e-2};
    default:
      return {0, 0};
  }
}

// The first element outside the tolerance, in words; empty if there is none.
std::string difference(const TensorType& type, std::span<const std::byte> have,
                       std::span<const std::byte> want) {
  const Floats a = to_doubles(type.dtype, have);
  const Floats b = to_doubles(type.dtype, want);
  if (a.size() != b.size()) return "another number of elements";
  const Tolerances allowed = tolerance_of(type.dtype);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (std::fabs(a[i] - b[i]) <= allowed.absolute + allowed.relative * std::fabs(b[i])) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + ", reference " +
           std::to_string(b[i]);
  }
  return "";
}

// One case with its values and the reference's answer.
struct Prepared {
  OpCase one;
  std::vector<HostTensor> values;
  std::vector<HostTensor> want;
};

Prepared prepare(const OpCase& one, uint64_t seed) {
  Prepared prepared{one, {}, {}};
  for (const TensorType& type : one.inputs) {
    prepared.values.push_back(
        random_tensor(type, one.positive, seed, static_cast<uint32_t>(prepared.values.size())));
  }
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& value : prepared.values) pointers.push_back(&value);
  Op op;
  op.kind = one.kind;
  for (const auto& [name, value] : one.attributes) op.attributes.set(name, value);
  auto want = evaluate(op, pointers);
  if (!want.ok()) throw std::runtime_error(name_of(one) + ": " + to_string(want.error()));
  prepared.want = std::move(want).value();
  return prepared;
}

std::string slot_name(const char* what, size_t position, size_t index) {
  return "case" + std::to_string(position) + what + std::to_string(index);
}

// These ops side by side, each alone; input 0 of each is always fed, the others are fed or
// constants. One program for many: a device may take long to prepare each.
ProgramBuilder program_of(std::span<const Prepared> cases, bool constants) {
  ProgramBuilder builder;
  for (size_t c = 0; c < cases.size(); ++c) {
    std::vector<TensorId> ids;
    for (size_t i = 0; i < cases[c].values.size(); ++i) {
      const HostTensor& value = cases[c].values[i];
      ids.push_back(constants && i > 0 ? builder.constant(value)
                                       : builder.input(slot_name("in", c, i), value.type));
    }
    const auto outputs = builder.ops(cases[c].one.kind, ids, cases[c].one.attributes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      builder.output(outputs[i], slot_name("out", c, i));
    }
  }
  return builder;
}

TEST_P(Conformance, EveryOpAgreesWithTheReference) {
  constexpr size_t kAtOnce = 50;
  const std::vector<OpCase> all = all_cases().all();
  for (size_t first = 0; first < all.size(); first += kAtOnce) {
    std::vector<Prepared> cases;
    for (size_t i = first; i < std::min(first + kAtOnce, all.size()); ++i) {
      cases.push_back(prepare(all[i], 1000 + i));
    }
    for (const bool constants : {false, true}) {
      const auto capture = record(program_of(cases, constants));
      for (size_t c = 0; c < cases.size(); ++c) {
        for (size_t i = 0; i < cases[c].values.size(); ++i) {
          if (constants && i > 0) continue;
          stage(*capture, slot_name("in", c, i), cases[c].values[i].bytes);
        }
      }
      run(*capture);
      for (size_t c = 0; c < cases.size(); ++c) {
        SCOPED_TRACE(name_of(cases[c].one));
        for (size_t i = 0; i < cases[c].want.size(); ++i) {
          const HostTensor& expected = cases[c].want[i];
          const size_t slot = slot_named(capture->outputs(), slot_name("out", c, i));
          EXPECT_EQ(difference(expected.type, capture->output(slot), expected.bytes), "")
              << "output " << i << (constants ? ", constants" : ", all fed");
        }
      }
    }
  }
}

TEST(ConformanceCases, CoverEveryOp) {
  std::set<OpKind> covered;
  for (const OpCase& one : all_cases().all()) covered.insert(one.kind);
  for (const OpKind kind : all_op_kinds()) {
    if (kind == OpKind::kWarp) continue;  // frame_test.cpp
    EXPECT_TRUE(covered.contains(kind)) << to_string(kind);
  }
}

}  // namespace
}  // namespace modeld::test
