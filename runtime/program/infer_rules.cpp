#include "runtime/program/infer_rules.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace modeld::infer {
namespace {

std::string input_name(size_t input) {
  return "input " + std::to_string(input);
}

std::string attribute_name(std::string_view name) {
  return "attribute " + std::string(name);
}

// Which of activation_alpha and activation_beta an activation takes.
struct ActivationRow {
  std::string_view name;
  bool alpha;
  bool beta;
};
constexpr std::array<ActivationRow, 11> kActivations = {{{"Relu", false, false},
                                                         {"Clip", true, true},
                                                         {"Sigmoid", false, false},
                                                         {"Tanh", false, false},
                                                         {"Silu", false, false},
                                                         {"Gelu", false, false},
                                                         {"GeluTanh", false, false},
                                                         {"HardSwish", false, false},
                                                         {"HardSigmoid", true, true},
                                                         {"LeakyRelu", true, false},
                                                         {"Elu", true, false}}};

Status need_parameter(const Call& call, std::string_view name, bool wanted) {
  if (call.attributes.has(name) == wanted) return {};
  return wrong(call, attribute_name(name),
               wanted ? "present for this activation" : "absent for this activation",
               wanted ? "absent" : "present");
}

}  // namespace

Error wrong(const Call& call, std::string what, std::string want, std::string have) {
  return Error(ErrorCode::kRefused, std::string(to_string(call.kind)) + ": " + std::move(what))
      .expecting(std::move(want), std::move(have));
}

bool is_numeric(DType type) {
  return type != DType::kBool && type != DType::kNv12;
}

bool is_signed(DType type) {
  return is_float(type) || type == DType::kInt8 || type == DType::kInt16 || type == DType::kInt32 ||
         type == DType::kInt64;
}

Status need_float(const Call& call, size_t input) {
  if (is_float(call.in(input).dtype)) return {};
  return wrong(call, input_name(input), "a float type", to_string(call.in(input)));
}

Status need_numeric(const Call& call, size_t input) {
  if (is_numeric(call.in(input).dtype)) return {};
  return wrong(call, input_name(input), "a numeric type", to_string(call.in(input)));
}

Status need_bool(const Call& call, size_t input) {
  if (call.in(input).dtype == DType::kBool) return {};
  return wrong(call, input_name(input), "bool", to_string(call.in(input)));
}

Status need_one_dtype(const Call& call) {
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i) || call.in(i).dtype == call.in(0).dtype) continue;
    return wrong(call, input_name(i),
                 "the element type of input 0, " + std::string(to_string(call.in(0).dtype)),
                 to_string(call.in(i)));
  }
  return {};
}

Status need_rank(const Call& call, size_t input, int64_t rank) {
  if (call.rank(input) == rank) return {};
  return wrong(call, input_name(input), "rank " + std::to_string(rank), to_string(call.in(input)));
}

Status need_rank_at_least(const Call& call, size_t input, int64_t rank) {
  if (call.rank(input) >= rank) return {};
  return wrong(call, input_name(input), "rank " + std::to_string(rank) + " or more",
               to_string(call.in(input)));
}

Status need_shape(const Call& call, size_t input, const Shape& shape) {
  if (call.shape(input) == shape) return {};
  return wrong(call, input_name(input), "shape " + to_string(shape), to_string(call.in(input)));
}

Result<int64_t> axis_of(const Call& call, int64_t rank) {
  if (rank == 0) return wrong(call, "attribute axis", "an input with axes", "a scalar");
  return int_of(call, "axis", 0, rank - 1);
}

Result<bool> flag_of(const Call& call, std::string_view name) {
  MODELD_ASSIGN(const int64_t value, int_of(call, name, 0, 1));
  return value == 1;
}

Result<int64_t> int_of(const Call& call, std::string_view name, int64_t least, int64_t most) {
  const int64_t value = call.attributes.get_int(name);
  if (value >= least && value <= most) return value;
  return wrong(call, attribute_name(name), std::to_string(least) + ".." + std::to_string(most),
               std::to_string(value));
}

Result<std::vector<int64_t>> ints_of(const Call& call, std::string_view name, size_t count,
                                     int64_t least) {
  std::vector<int64_t> values = call.attributes.get_ints(name);
  if (values.size() != count) {
    return wrong(call, attribute_name(name), std::to_string(count) + " values",
                 std::to_string(values.size()) + " values");
  }
  for (const int64_t value : values) {
    if (value >= least && value <= kMaxExtent) continue;
    return wrong(call, attribute_name(name),
                 "values in " + std::to_string(least) + ".." + std::to_string(kMaxExtent),
                 std::to_string(value));
  }
  return values;
}

Status need_finite(const Call& call, std::string_view name, double least) {
  const double value = call.attributes.get_float(name);
  if (std::isfinite(value) && value >= least) return {};
  return wrong(call, attribute_name(name), "finite and at least " + std::to_string(least),
               std::to_string(value));
}

Status need_one_of(const Call& call, std::string_view name,
                   std::initializer_list<std::string_view> values) {
  const std::string value = call.attributes.get_string(name);
  std::string known;
  for (const std::string_view candidate : values) {
    if (value == candidate) return {};
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  return wrong(call, attribute_name(name), "one of " + known, value.substr(0, 64));
}

Status check_activation(const Call& call) {
  if (!call.attributes.has("activation")) {
    MODELD_TRY(need_parameter(call, "activation_alpha", false));
    return need_parameter(call, "activation_beta", false);
  }
  const std::string name = call.attributes.get_string("activation");
  for (const ActivationRow& row : kActivations) {
    if (row.name != name) continue;
    MODELD_TRY(need_parameter(call, "activation_alpha", row.alpha));
    return need_parameter(call, "activation_beta", row.beta);
  }
  return wrong(call, "attribute activation", "an activation of OPS.md", name.substr(0, 64));
}

Result<Shape> broadcast_all(const Call& call, size_t first_input) {
  Shape result = call.shape(first_input);
  for (size_t i = first_input + 1; i < call.inputs.size(); ++i) {
    const Shape& other = call.shape(i);
    if (other.size() > result.size())
      result.insert(result.begin(), other.size() - result.size(), 1);
    const size_t skip = result.size() - other.size();
    for (size_t axis = 0; axis < other.size(); ++axis) {
      int64_t& extent = result[skip + axis];
      if (other[axis] == extent || other[axis] == 1) continue;
      if (extent != 1) {
        return wrong(call, input_name(i), "a shape that broadcasts with " + to_string(result),
                     to_string(call.in(i)));
      }
      extent = other[axis];
    }
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const size_t skip = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1 && from[axis] != to[skip + axis]) return false;
  }
  return true;
}

}  // namespace modeld::infer
