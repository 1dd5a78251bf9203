// Small files that ask for enormous programs: refused within a second of processor time, without
// ever holding what they ask for.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ctime>

#include "runtime/base/sanitized.h"
#include "tests/compile/import_helpers.h"
#include "tools/compile/compile.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;

constexpr int64_t kVast = int64_t{1} << 40;

int64_t peak_kilobytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Compiled as modelctl compile does it.
void expect_refused(const OnnxBuilder& builder, const std::string& word) {
  SCOPED_TRACE(word);
  const test::TempDir folder;
  const auto path = builder.save(folder / "m.onnx");
  const int64_t before = peak_kilobytes();
  const std::clock_t start = std::clock();
  const auto compiled = compile_onnx(path);
  EXPECT_LT(std::clock() - start, (kSanitized ? 20 : 1) * CLOCKS_PER_SEC);
  EXPECT_LT(peak_kilobytes() - before, 256 * 1024);
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(to_string(compiled.error()).find(word), std::string::npos)
      << to_string(compiled.error());
  EXPECT_NE(compiled.error().code, ErrorCode::kInternal);
}

OnnxBuilder graph_of(const Shape& shape) {
  OnnxBuilder builder(18);
  builder.input("x", DType::kFloat32, shape).output("y");
  return builder;
}

TEST(HostileGraph, VastInputs) {
  OnnxBuilder line = graph_of({kVast});
  line.node("Relu", {"x"}, {"y"}).named("line");
  expect_refused(line, "1099511627776");
  OnnxBuilder square = graph_of({1 << 20, 1 << 20});
  square.node("Relu", {"x"}, {"y"}).named("square");
  expect_refused(square, "1048576");
}

TEST(HostileGraph, VastResultsOfSmallInputs) {
  OnnxBuilder expand = graph_of({1});
  expand.ints("shape", {1 << 20, 1 << 20}).node("Expand", {"x", "shape"}, {"y"}).named("expand");
  expect_refused(expand, "1048576");
  OnnxBuilder tile = graph_of({1, 1});
  tile.ints("repeats", {1 << 20, 1 << 20}).node("Tile", {"x", "repeats"}, {"y"}).named("tile");
  expect_refused(tile, "1048576");
  OnnxBuilder pad = graph_of({1, 1});
  pad.ints("pads", {1 << 20, 1 << 20, 0, 0}).node("Pad", {"x", "pads"}, {"y"}).named("pad");
  expect_refused(pad, "1048577");
  OnnxBuilder filled = graph_of({1});
  filled.ints("shape", {1 << 20, 1 << 20});
  filled.node("ConstantOfShape", {"shape"}, {"c"}).named("filled");
  filled.node("Add", {"x", "c"}, {"y"});
  expect_refused(filled, "filled");
  OnnxBuilder range = graph_of({1});
  range.constant("from", make_tensor(DType::kFloat32, {}, {0}));
  range.constant("to", make_tensor(DType::kFloat32, {}, {static_cast<double>(kVast)}));
  range.constant("step", make_tensor(DType::kFloat32, {}, {1}));
  range.node("Range", {"from", "to", "step"}, {"r"}).named("range");
  range.node("Add", {"x", "r"}, {"y"});
  expect_refused(range, "range");
}

TEST(HostileGraph, DoublingAgainAndAgain) {
  OnnxBuilder builder(18);
  builder.input("v0", DType::kFloat32, {2}).output("v60");
  for (int i = 0; i < 60; ++i) {
    const std::string from = "v" + std::to_string(i);
    builder.node("Concat", {from, from}, {"v" + std::to_string(i + 1)}).with("axis", 0);
  }
  expect_refused(builder, "Concat");
  OnnxBuilder outer(18);
  outer.input("v0", DType::kFloat32, {2, 1}).output("v40");
  for (int i = 0; i < 40; ++i) {  // a column times a row, stacked: squares each time
    const std::string from = "v" + std::to_string(i);
    outer.node("Concat", {from, from}, {from + "w"}).with("axis", 0);
    outer.node("Tile", {from + "w", "twice"}, {"v" + std::to_string(i + 1)});
  }
  outer.ints("twice", {1, 2});
  expect_refused(outer, "node '");
}

// Constants are folded: what costs nothing to write down must not cost hours to compute.
TEST(HostileGraph, FoldingHasABudget) {
  OnnxBuilder builder = graph_of({1});
  builder.ints("shape", {1 << 12, 1 << 12});
  builder.node("ConstantOfShape", {"shape"}, {"m0"});
  for (int i = 0; i < 64; ++i) {
    const std::string from = "m" + std::to_string(i);
    builder.node("MatMul", {from, from}, {"m" + std::to_string(i + 1)}).named("matmul");
  }
  builder.node("ReduceSum", {"m64"}, {"s"}).with("keepdims", 0);
  builder.node("Add", {"x", "s"}, {"y"});
  const test::TempDir folder;
  CompileOptions options;
  options.make_references = false;
  const std::clock_t start = std::clock();
  const auto compiled = compile_onnx(builder.save(folder / "m.onnx"), options);
  // Not refused: what is too much to fold is left for the device, which is asked nothing here.
  EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(HostileGraph, NegativeSizes) {
  OnnxBuilder filled = graph_of({1});
  filled.ints("shape", {-4}).node("ConstantOfShape", {"shape"}, {"c"}).named("filled");
  filled.node("Add", {"x", "c"}, {"y"});
  expect_refused(filled, "filled");
  OnnxBuilder reshape = graph_of({4});
  reshape.ints("shape", {-2, -2}).node("Reshape", {"x", "shape"}, {"y"}).named("reshape");
  expect_refused(reshape, "reshape");
  OnnxBuilder pad = graph_of({4});
  pad.ints("pads", {-3, -3}).node("Pad", {"x", "pads"}, {"y"}).named("pad");
  expect_refused(pad, "pad");
  OnnxBuilder pool = graph_of({1, 1, 4});
  pool.node("MaxPool", {"x"}, {"y"}).named("pool").with("kernel_shape", std::vector<int64_t>{-1});
  expect_refused(pool, "pool");
  OnnxBuilder split = graph_of({4});
  split.ints("parts", {-1, 5});
  split.node("Split", {"x", "parts"}, {"y", "z"}).named("split").with("axis", 0);
  expect_refused(split, "split");
}

TEST(HostileGraph, TrainingGraphsAreRefusedByName) {
  for (const auto& [op, domain] : std::vector<std::pair<std::string, std::string>>{
           {"Adam", "ai.onnx.preview.training"},
           {"Adagrad", "ai.onnx.preview.training"},
           {"Momentum", "ai.onnx.preview.training"},
           {"Gradient", "ai.onnx.preview.training"},
           {"SoftmaxCrossEntropyGrad", "ai.onnx.training"}}) {
    OnnxBuilder builder = graph_of({2});
    builder.node(op, {"x"}, {"y"}).named("step of " + op).domain(domain);
    expect_refused(builder, "node 'step of " + op + "'");
    expect_refused(builder, "training");
  }
  OnnxBuilder norm = graph_of({1, 2, 3});
  norm.floats("p", {2}, {1, 1});
  norm.node("BatchNormalization", {"x", "p", "p", "p", "p"}, {"y", "m", "v"})
      .named("norm")
      .with("training_mode", 1);
  expect_refused(norm, "node 'norm'");
  OnnxBuilder dropout = graph_of({2});
  dropout.floats("ratio", {}, {0.5});
  dropout.constant("on", make_tensor(DType::kBool, {}, {1}));
  dropout.node("Dropout", {"x", "ratio", "on"}, {"y"}).named("dropout");
  expect_refused(dropout, "node 'dropout'");
}

}  // namespace
}  // namespace modeld::compile
