#include "tools/compile/passes/recognise_softmax.h"

#include "tests/compile/pass_check.h"
#include "tools/compile/passes/dead_code.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;

OnnxBuilder spelled_out(int64_t max_axis, int64_t sum_axis) {
  OnnxBuilder builder = graph({2, 3, 4});
  builder.ints("max_axis", {max_axis}).ints("sum_axis", {sum_axis});
  builder.node("ReduceMax", {"x", "max_axis"}, {"m"});
  builder.node("Sub", {"x", "m"}, {"d"});
  builder.node("Exp", {"d"}, {"e"});
  builder.node("ReduceSum", {"e", "sum_axis"}, {"s"});
  builder.node("Div", {"e", "s"}, {"y"});
  return builder;
}

TEST(RecogniseSoftmax, OverEachAxis) {
  for (const int64_t axis : {0, 1, 2, -1}) {
    expect_pass(spelled_out(axis, axis), {recognise_softmax, remove_dead_code},
                "ReduceMax Sub Exp ReduceSum Div", "Softmax");
  }
}

TEST(RecogniseSoftmax, OtherAxesOrNoMaximumAreSomethingElse) {
  expect_untouched(spelled_out(1, 2), recognise_softmax, "ReduceMax Sub Exp ReduceSum Div");
  // This one overflows where Softmax does not.
  OnnxBuilder plain = graph({2, 3});
  plain.ints("axis", {1});
  plain.node("Exp", {"x"}, {"e"});
  plain.node("ReduceSum", {"e", "axis"}, {"s"});
  plain.node("Div", {"e", "s"}, {"y"});
  expect_untouched(plain, recognise_softmax, "Exp ReduceSum Div");
}

}  // namespace
}  // namespace modeld::compile
