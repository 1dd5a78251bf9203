#include "tests/compile/pass_check.h"

#include <cmath>
#include <map>

#include "runtime/program/seeded_inputs.h"

namespace modeld::compile {

using test::make_tensor;
using test::OnnxBuilder;

namespace {

constexpr uint64_t kSeeds = 3;

// Runs the draft op by op; inputs are seeded.
std::vector<std::vector<double>> run(const Draft& draft, uint64_t seed) {
  std::map<TensorId, HostTensor> values;
  for (TensorId id = 0; id < draft.tensors.size(); ++id) {
    if (draft.constant(id) != nullptr) values[id] = *draft.constant(id);
  }
  for (size_t i = 0; i < draft.inputs.size(); ++i) {
    HostTensor value{draft.type(draft.inputs[i]), {}};
    value.bytes.resize(value.type.bytes());
    fill_seeded(value.bytes, value.type.dtype, seed, static_cast<uint32_t>(i), 0);
    values[draft.inputs[i]] = std::move(value);
  }
  for (const Op& op : draft.ops) {
    std::vector<const HostTensor*> inputs;
    for (const TensorId id : op.inputs)
      inputs.push_back(id == kNoTensor ? nullptr : &values.at(id));
    auto outputs = evaluate(op, inputs);
    EXPECT_TRUE(outputs.ok()) << op.name << ": " << to_string(outputs.error());
    if (!outputs.ok()) return {};
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      EXPECT_EQ((*outputs)[i].type, draft.type(op.outputs[i])) << op.name;
      values[op.outputs[i]] = std::move((*outputs)[i]);
    }
  }
  std::vector<std::vector<double>> results;
  for (const TensorId id : draft.outputs) results.push_back(to_doubles(values.at(id)));
  return results;
}

void expect_close(const std::vector<std::vector<double>>& before,
                  const std::vector<std::vector<double>>& after, double tolerance) {
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(before[i].size(), after[i].size());
    for (size_t k = 0; k < before[i].size(); ++k) {
      EXPECT_NEAR(before[i][k], after[i][k], tolerance * std::max(1.0, std::abs(before[i][k])));
    }
  }
}

}  // namespace

void expect_pass(const OnnxBuilder& builder, std::initializer_list<PassFunction> passes,
                 const std::string& before, const std::string& after, double tolerance) {
  auto imported = import_file(builder);
  ASSERT_TRUE(imported.ok()) << to_string(imported.error());
  Draft& draft = imported->draft;
  EXPECT_EQ(kinds(draft), before);
  std::vector<std::vector<std::vector<double>>> expected;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) expected.push_back(run(draft, seed));
  for (const PassFunction pass : passes) {
    const auto changes = pass(draft);
    ASSERT_TRUE(changes.ok()) << to_string(changes.error());
  }
  EXPECT_EQ(kinds(draft), after);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    expect_close(expected[seed], run(draft, seed), tolerance);
  }
}

void expect_untouched(const OnnxBuilder& builder, PassFunction pass, const std::string& program) {
  expect_pass(builder, {pass}, program, program, 0);
}

HostTensor seeded(const Shape& shape, uint32_t stream) {
  HostTensor tensor{{DType::kFloat32, shape}, {}};
  tensor.bytes.resize(tensor.type.bytes());
  fill_seeded(tensor.bytes, DType::kFloat32, 99, stream, 0);
  return tensor;
}

HostTensor positive(const Shape& shape, uint32_t stream) {
  std::vector<double> values = to_doubles(seeded(shape, stream));
  for (double& value : values) value = std::abs(value) + 0.1;
  return make_tensor(DType::kFloat32, shape, values);
}

OnnxBuilder graph(const Shape& shape) {
  OnnxBuilder builder(18);
  builder.input("x", DType::kFloat32, shape).output("y");
  return builder;
}

}  // namespace modeld::compile
