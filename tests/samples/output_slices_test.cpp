#include "tools/samples/output_slices.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/test_data.h"
#include "tools/samples/driving_network.h"
#include "tools/samples/monitoring_network.h"

namespace modeld::samples {
namespace {

using nlohmann::json;

void expect_layout(std::span<const HeadSlice> slices, const std::string& vector_file) {
  std::ifstream file(test::shared_path(vector_file));
  const auto expected = json::parse(file);
  ASSERT_EQ(slices.size(), expected["slices"].size());
  for (const HeadSlice& slice : slices) {
    ASSERT_TRUE(expected["slices"].contains(slice.name)) << slice.name;
    EXPECT_EQ(expected["slices"][slice.name], json({slice.start, slice.stop})) << slice.name;
  }
  EXPECT_EQ(slices.back().stop, expected["total"].get<int64_t>());
}

TEST(OutputSlices, DrivingLayout) {
  MODELD_NEED_SHARED("data/vectors/parse/supercombo2580.json");
  expect_layout(driving_slices(), "data/vectors/parse/supercombo2580.json");
}

TEST(OutputSlices, MonitoringLayout) {
  MODELD_NEED_SHARED("data/vectors/parse/dm553.json");
  expect_layout(monitoring_slices(), "data/vectors/parse/dm553.json");
}

// Every layout that starts at 0 and has no open ends, against what Python wrote.
TEST(OutputSlices, TextIsWhatPythonWrites) {
  MODELD_NEED_SHARED("data/vectors/parse/output_slices_pickles.json");
  std::ifstream file(test::shared_path("data/vectors/parse/output_slices_pickles.json"));
  // Ordered: the pickle keeps the order of the dict.
  const auto cases = nlohmann::ordered_json::parse(file);
  size_t compared = 0;
  for (const auto& entry : cases) {
    if (entry["pickle_protocol"] != 4) continue;
    std::vector<HeadSlice> slices;
    bool plain = true;
    for (const auto& [name, bounds] : entry["slices"].items()) {
      plain = plain && bounds.size() == 2 && bounds[0].is_number_integer() &&
              bounds[1].is_number_integer() && bounds[0] >= 0 && bounds[1] >= 0;
      if (plain) slices.push_back({name, bounds[0], bounds[1]});
    }
    if (!plain) continue;
    EXPECT_EQ(encode_output_slices(slices), entry["base64"]) << entry["name"];
    ++compared;
  }
  EXPECT_GE(compared, 2u);
}

}  // namespace
}  // namespace modeld::samples
