// --weights: initializers of a network replaced by name.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/compile/import_helpers.h"
#include "tests/compile/model_runner.h"
#include "tools/compile/compile.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;

class ReplaceWeights : public testing::Test {
 protected:
  // y = x * w + b
  void SetUp() override {
    OnnxBuilder onnx(18);
    onnx.input("x", DType::kFloat32, {2}).output("y");
    onnx.floats("w", {2}, {2, 3}).floats("b", {2}, {10, 20});
    onnx.node("Mul", {"x", "w"}, {"p"});
    onnx.node("Add", {"p", "b"}, {"y"});
    onnx.save(folder_ / "m.onnx");
  }
  // A file with one tensor.
  void write(const std::string& name, const HostTensor& value, const std::string& dtype) {
    const std::string header = "{\"" + name + "\":{\"dtype\":\"" + dtype +
                               "\",\"shape\":" + to_string(value.type.shape) +
                               ",\"data_offsets\":[0," + std::to_string(value.bytes.size()) + "]}}";
    const uint64_t length = header.size();
    std::ofstream file(folder_ / "w.safetensors", std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
    file.write(reinterpret_cast<const char*>(value.bytes.data()),
               static_cast<std::streamsize>(value.bytes.size()));
  }
  Result<CompiledModel> compile(bool replaced = true) {
    CompileOptions options;
    if (replaced) options.weights = folder_ / "w.safetensors";
    return compile_onnx(folder_ / "m.onnx", options);
  }

  test::TempDir folder_;
};

TEST_F(ReplaceWeights, TheOutputIsThatOfTheNewOnes) {
  write("w", make_tensor(DType::kFloat32, {2}, {-1, 5}), "F32");
  const auto plain = compile(false);
  const auto replaced = compile();
  ASSERT_TRUE(replaced.ok()) << to_string(replaced.error());
  const HostTensor x = make_tensor(DType::kFloat32, {2}, {1, 2});
  const auto run = [&](const Model& model) {
    const auto outputs = test::ModelRunner(model).run({{"x", x}});
    return test::to_doubles(DType::kFloat32, outputs.at("y").bytes);
  };
  EXPECT_EQ(run(plain->model), (std::vector<double>{12, 26}));
  EXPECT_EQ(run(replaced->model), (std::vector<double>{9, 30}));
  // Both sources are on record, and the reference values are those of the new weights.
  EXPECT_EQ(replaced->model.contract.source_sha256.substr(0, 65),
            plain->model.contract.source_sha256 + ",");
  EXPECT_EQ(replaced->model.contract.source_sha256.size(), 64u + 1 + 64);
  EXPECT_NE(replaced->model.contract.references[0].outputs,
            plain->model.contract.references[0].outputs);
}

TEST_F(ReplaceWeights, TypeAndShapeMustBeTheSame) {
  write("w", make_tensor(DType::kFloat32, {3}, {1, 2, 3}), "F32");
  expect_refusal(compile(), "expected f32[2], found f32[3]");
  write("w", make_tensor(DType::kFloat32, {1, 2}, {1, 2}), "F32");
  expect_refusal(compile(), "found f32[1,2]");
  write("w", make_tensor(DType::kFloat16, {2}, {1, 2}), "F16");
  expect_refusal(compile(), "found f16[2]");
}

TEST_F(ReplaceWeights, UnknownNamesAndOptimizerStateAreRefusedByName) {
  write("v", make_tensor(DType::kFloat32, {2}, {1, 2}), "F32");
  expect_refusal(compile(), "tensor 'v'");
  expect_refusal(compile(), "no such initializer");
  for (const char* name : {"optimizer.state.0.exp_avg", "w.exp_avg_sq", "w.Momentum", "adam_v.w"}) {
    write(name, make_tensor(DType::kFloat32, {2}, {1, 2}), "F32");
    expect_refusal(compile(), name);
    expect_refusal(compile(), "optimizer state");
  }
}

TEST_F(ReplaceWeights, ABrokenFileNamesItself) {
  std::ofstream(folder_ / "w.safetensors") << "no";
  expect_refusal(compile(), "w.safetensors");
}

}  // namespace
}  // namespace modeld::compile
