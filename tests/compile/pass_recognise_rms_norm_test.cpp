#include "tools/compile/passes/recognise_rms_norm.h"

#include "tests/compile/pass_check.h"
#include "tools/compile/passes/dead_code.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;

// "x" normalised by 1 / sqrt(mean(x^2) + eps) written as `form` says, into "n".
void add_norm(OnnxBuilder& builder, const std::string& x, const std::string& form, int64_t axis) {
  builder.floats("eps", {}, {0.01}).floats("two", {}, {2}).ints("axes", {axis});
  builder.node("Pow", {x, "two"}, {"p"});
  builder.node("ReduceMean", {"p", "axes"}, {"m"});
  builder.node("Add", {"m", "eps"}, {"e"});
  if (form == "Pow") {
    builder.floats("power", {}, {-0.5}).node("Pow", {"e", "power"}, {"i"});
    builder.node("Mul", {x, "i"}, {"n"});
    return;
  }
  builder.node("Sqrt", {"e"}, {"s"});
  if (form == "Div") {
    builder.node("Div", {x, "s"}, {"n"});
  } else if (form == "Reciprocal") {
    builder.node("Reciprocal", {"s"}, {"i"});
    builder.node("Mul", {"i", x}, {"n"});
  } else {
    builder.floats("one", {}, {1}).node("Div", {"one", "s"}, {"i"});
    builder.node("Mul", {x, "i"}, {"n"});
  }
}

void scaled(OnnxBuilder& builder, const Shape& shape) {
  builder.constant("w", positive(shape, 1)).node("Mul", {"w", "n"}, {"y"});
}

TEST(RecogniseRmsNorm, InEverySpelling) {
  const std::pair<const char*, const char*> forms[] = {
      {"Div", "Pow ReduceMean Add Sqrt Div Mul"},
      {"Reciprocal", "Pow ReduceMean Add Sqrt Reciprocal Mul Mul"},
      {"One", "Pow ReduceMean Add Sqrt Div Mul Mul"},
      {"Pow", "Pow ReduceMean Add Pow Mul Mul"}};
  for (const auto& [form, before] : forms) {
    OnnxBuilder builder = graph({2, 3, 8});
    add_norm(builder, "x", form, -1);
    scaled(builder, {8});
    expect_pass(builder, {recognise_rms_norm, remove_dead_code}, before, "RMSNormalization");
  }
}

TEST(RecogniseRmsNorm, SquaredByItselfOverTwoAxesWithoutScale) {
  OnnxBuilder builder = graph({2, 3, 8});
  builder.floats("eps", {}, {0.01}).ints("axes", {1, 2});
  builder.node("Mul", {"x", "x"}, {"p"});
  builder.node("ReduceMean", {"p", "axes"}, {"m"});
  builder.node("Add", {"eps", "m"}, {"e"});
  builder.node("Sqrt", {"e"}, {"s"});
  builder.node("Div", {"x", "s"}, {"y"});
  expect_pass(builder, {recognise_rms_norm, remove_dead_code}, "Mul ReduceMean Add Sqrt Div",
              "RMSNormalization");
}

// x half: Cast to float32, the pattern, Cast back, then the scale in half or before the Cast.
OnnxBuilder half_graph(bool scale_behind, double weight) {
  OnnxBuilder builder(18);
  builder.input("h", DType::kFloat16, {2, 8}).output("y");
  builder.node("Cast", {"h"}, {"x"}).with("to", int64_t{1});
  add_norm(builder, "x", "Reciprocal", -1);
  if (scale_behind) {
    builder.constant("w", test::make_tensor(DType::kFloat16, {8}, std::vector<double>(8, weight)));
    builder.node("Cast", {"n"}, {"c"}).with("to", int64_t{10});
    builder.node("Mul", {"c", "w"}, {"y"});
  } else {
    builder.constant("w", test::make_tensor(DType::kFloat32, {8}, std::vector<double>(8, weight)));
    builder.node("Mul", {"n", "w"}, {"f"});
    builder.node("Cast", {"f"}, {"y"}).with("to", int64_t{10});
  }
  return builder;
}

constexpr double kHalfStep = 1.0 / 1024;

TEST(RecogniseRmsNorm, CastsRoundHalfInputsGoIn) {
  expect_pass(half_graph(true, 1.5), {recognise_rms_norm, remove_dead_code},
              "Cast Pow ReduceMean Add Sqrt Reciprocal Mul Cast Mul", "RMSNormalization",
              kHalfStep);
  expect_pass(half_graph(false, 1.5), {recognise_rms_norm, remove_dead_code},
              "Cast Pow ReduceMean Add Sqrt Reciprocal Mul Mul Cast", "RMSNormalization",
              kHalfStep);
}

// Rounding the scale to half would change the network: the Casts stay.
TEST(RecogniseRmsNorm, ScaleThatHalfCannotHoldStaysFloat32) {
  expect_pass(half_graph(false, 1.00001), {recognise_rms_norm, remove_dead_code},
              "Cast Pow ReduceMean Add Sqrt Reciprocal Mul Mul Cast", "Cast RMSNormalization Cast",
              kHalfStep);
}

TEST(RecogniseRmsNorm, LeavesAloneOtherAxesAndOtherSquares) {
  OnnxBuilder rows = graph({2, 3, 8});
  add_norm(rows, "x", "Div", 1);
  scaled(rows, {8});
  expect_untouched(rows, recognise_rms_norm, "Pow ReduceMean Add Sqrt Div Mul");
  OnnxBuilder other = graph({2, 8});
  other.floats("eps", {}, {0.01}).ints("axes", {-1});
  other.node("Sigmoid", {"x"}, {"a"});
  other.node("Mul", {"a", "a"}, {"p"});
  other.node("ReduceMean", {"p", "axes"}, {"m"});
  other.node("Add", {"m", "eps"}, {"e"});
  other.node("Sqrt", {"e"}, {"s"});
  other.node("Div", {"x", "s"}, {"y"});
  expect_untouched(other, recognise_rms_norm, "Sigmoid Mul ReduceMean Add Sqrt Div");
  OnnxBuilder fourth = graph({2, 8});
  fourth.floats("eps", {}, {0.01}).floats("four", {}, {4}).ints("axes", {-1});
  fourth.node("Pow", {"x", "four"}, {"p"});
  fourth.node("ReduceMean", {"p", "axes"}, {"m"});
  fourth.node("Add", {"m", "eps"}, {"e"});
  fourth.node("Sqrt", {"e"}, {"s"});
  fourth.node("Div", {"x", "s"}, {"y"});
  expect_untouched(fourth, recognise_rms_norm, "Pow ReduceMean Add Sqrt Div");
}

TEST(RecogniseRmsNorm, ScaleThatSomebodyElseReadsStaysApart) {
  OnnxBuilder builder = graph({2, 8});
  add_norm(builder, "x", "Div", -1);
  scaled(builder, {8});
  builder.output("n");
  expect_pass(builder, {recognise_rms_norm, remove_dead_code}, "Pow ReduceMean Add Sqrt Div Mul",
              "RMSNormalization Mul");
}

}  // namespace
}  // namespace modeld::compile
