// Output contracts of the network layouts in data/vectors/parse.
#pragma once

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/artifact/contract.h"
#include "tests/support/test_data.h"

namespace modeld::test {

inline OutputContract vector_contract(const std::string& layout) {
  std::ifstream file(shared_path("data/vectors/parse/" + layout + ".json"));
  const auto json = nlohmann::json::parse(file);
  OutputContract output;
  output.name = layout;
  output.type = {DType::kFloat32, {1, json["total"].get<int64_t>()}};
  for (const auto& [name, range] : json["slices"].items()) {
    OutputSlice slice;
    slice.name = name;
    slice.start = range[0];
    slice.stop = range[1];
    output.slices.push_back(slice);
  }
  return output;
}

// Equal numbers, or both NaN.
inline bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace modeld::test
