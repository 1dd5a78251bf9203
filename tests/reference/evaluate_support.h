// One op in, numbers out, for the golden cases of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/reference/evaluate.h"
#include "tests/support/program_builder.h"

namespace modeld::test {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

inline HostTensor f32(Shape shape, std::initializer_list<double> values) {
  return make_tensor(DType::kFloat32, std::move(shape), values);
}

inline Op make_op(OpKind kind, Attributes::Map attributes = {}) {
  Op op;
  op.kind = kind;
  op.name = "node";
  for (auto& [name, value] : attributes) op.attributes.set(name, std::move(value));
  return op;
}

// The only output; a failure is a test failure and gives an empty tensor.
inline HostTensor evaluate_one(const Op& op, const std::vector<HostTensor>& inputs) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& input : inputs) pointers.push_back(&input);
  auto results = evaluate(op, pointers);
  if (!results.ok()) {
    ADD_FAILURE() << to_string(results.error());
    return {};
  }
  EXPECT_EQ(results->size(), 1u);
  return std::move((*results)[0]);
}

// Equal element by element; NaN equals NaN and the sign of zero counts.
inline void expect_values(const HostTensor& result, const Floats& want, double tolerance = 0) {
  const Floats have = to_doubles(result.type.dtype, result.bytes);
  ASSERT_EQ(have.size(), want.size()) << to_string(result.type);
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(have[i])) << i << ": " << have[i];
    } else if (tolerance == 0) {
      EXPECT_EQ(have[i], want[i]) << "element " << i;
      EXPECT_EQ(std::signbit(have[i]), std::signbit(want[i])) << "sign of element " << i;
    } else {
      EXPECT_NEAR(have[i], want[i], tolerance) << "element " << i;
    }
  }
}

inline void expect_op(OpKind kind, const std::vector<HostTensor>& inputs, const Floats& want,
                      Attributes::Map attributes = {}, double tolerance = 0) {
  SCOPED_TRACE(std::string(to_string(kind)));
  expect_values(evaluate_one(make_op(kind, std::move(attributes)), inputs), want, tolerance);
}

}  // namespace modeld::test
