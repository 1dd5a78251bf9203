#include "tools/compile/passes/permute_weights.h"

#include "tests/compile/pass_check.h"
#include "tests/support/test_data.h"
#include "tools/compile/compile.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;
using Ints = std::vector<int64_t>;

// Features [2, 3, 4, 5] channels last, flattened to [2, 60].
OnnxBuilder flattened() {
  OnnxBuilder builder = graph({2, 3, 4, 5});
  builder.ints("flat", {2, 60});
  builder.node("Transpose", {"x"}, {"t"}).with("perm", Ints{0, 2, 3, 1});
  builder.node("Reshape", {"t", "flat"}, {"f"});
  return builder;
}

TEST(PermuteWeights, TheTransposeGoesIntoTheRows) {
  OnnxBuilder gemm = flattened();
  gemm.constant("w", seeded({60, 7}, 1)).constant("b", seeded({7}, 2));
  gemm.node("Gemm", {"f", "w", "b"}, {"y"});
  expect_pass(gemm, {permute_weights}, "Transpose Reshape Gemm", "Reshape Gemm");
  OnnxBuilder matmul = flattened();
  matmul.constant("w", seeded({60, 7}, 1)).node("MatMul", {"f", "w"}, {"y"});
  expect_pass(matmul, {permute_weights}, "Transpose Reshape MatMul", "Reshape MatMul");
}

TEST(PermuteWeights, OrIntoTheColumnsOfTransposedWeights) {
  OnnxBuilder builder = flattened();
  builder.constant("w", seeded({7, 60}, 1));
  builder.node("Gemm", {"f", "w"}, {"y"}).with("transB", 1);
  expect_pass(builder, {permute_weights}, "Transpose Reshape Gemm", "Reshape Gemm");
}

TEST(PermuteWeights, AllReadersTogether) {
  OnnxBuilder builder = flattened();
  builder.output("z").constant("v", seeded({60, 7}, 1)).constant("w", seeded({60, 2}, 2));
  builder.node("MatMul", {"f", "v"}, {"y"});
  builder.node("MatMul", {"f", "w"}, {"z"});
  expect_pass(builder, {permute_weights}, "Transpose Reshape MatMul MatMul",
              "Reshape MatMul MatMul");
}

TEST(PermuteWeights, LeavesAloneWhatIsReadElsewhereOrMixesTheBatch) {
  OnnxBuilder read = flattened();
  read.output("f").constant("w", seeded({60, 7}, 1)).node("MatMul", {"f", "w"}, {"y"});
  expect_untouched(read, permute_weights, "Transpose Reshape MatMul");
  OnnxBuilder relu = flattened();
  relu.output("z").constant("w", seeded({60, 7}, 1));
  relu.node("MatMul", {"f", "w"}, {"y"});
  relu.node("Relu", {"f"}, {"z"});
  expect_untouched(relu, permute_weights, "Transpose Reshape MatMul Relu");
  OnnxBuilder batch = graph({2, 3, 4});
  batch.ints("flat", {3, 8}).constant("w", seeded({8, 7}, 1));
  batch.node("Transpose", {"x"}, {"t"}).with("perm", Ints{1, 0, 2});
  batch.node("Reshape", {"t", "flat"}, {"f"});
  batch.node("MatMul", {"f", "w"}, {"y"});
  expect_untouched(batch, permute_weights, "Transpose Reshape MatMul");
}

TEST(PermuteWeights, ChannelsLastFeaturesKeepNoTranspose) {
  MODELD_NEED_SHARED("data/models/dm-2020-05.onnx");
  CompileOptions options;
  options.make_references = false;
  const auto compiled = compile_onnx(test::shared_path("data/models/dm-2020-05.onnx"), options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  for (const Op& op : compiled->model.program.ops)
    EXPECT_NE(op.kind, OpKind::kTranspose) << op.name;
}

}  // namespace
}  // namespace modeld::compile
