// One ONNX node test: a network of one operator, inputs, and the outputs it must give.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/reference/host_tensor.h"
#include "tools/compile/compile.h"

namespace modeld::modelctl {

// `NAME/test_data_set_K`.
struct ConformanceData {
  std::map<std::string, HostTensor> inputs;        // by graph input; an absent file is not there
  std::vector<std::optional<HostTensor>> outputs;  // in the graph's order
};

struct ConformanceCase {
  std::string name;
  std::filesystem::path model;
  std::vector<std::string> outputs;  // names, in the graph's order
  // Graph inputs that carry shapes, axes, repeats, ...: what ONNX lets a network compute and a
  // program has as attributes. They are frozen to the case's values.
  std::vector<std::string> frozen;
  std::vector<ConformanceData> data;
};

// Folders of `root` that hold a model.onnx, sorted.
Result<std::vector<std::string>> list_cases(const std::filesystem::path& root);

// kUnsupported if the case uses what a program cannot hold (sequences, strings, ...).
Result<ConformanceCase> read_case(const std::filesystem::path& root, const std::string& name);

std::map<std::string, compile::FrozenInput> frozen_inputs(const ConformanceCase& test,
                                                          const ConformanceData& data);

// Empty, or how `found` differs: float32/64 may be off by 1e-5 + 1e-3 |expected|, float16 and
// bfloat16 by 1e-3 + 1e-2 |expected|, everything else must be equal.
std::string difference(const HostTensor& expected, const TensorType& type,
                       std::span<const std::byte> found);

}  // namespace modeld::modelctl
