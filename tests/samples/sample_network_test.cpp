#include "tools/samples/sample_network.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <openssl/sha.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/half.h"
#include "tests/support/test_data.h"

namespace modeld::samples {
namespace {

using nlohmann::json;

// Made and parsed once for all tests.
const onnx::ModelProto& parsed(SampleKind kind) {
  static std::map<SampleKind, onnx::ModelProto> made;
  auto& model = made[kind];
  if (model.ir_version() == 0) {
    EXPECT_TRUE(model.ParseFromString(make_sample(kind)));
  }
  return model;
}

json read_json(const std::string& relative) {
  std::ifstream file(test::shared_path(relative));
  return json::parse(file);
}

std::string metadata(const onnx::ModelProto& model, const std::string& key) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

// [name, dims, element type] as in the signature vectors.
json signature(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  json list = json::array();
  for (const auto& value : values) {
    json dims = json::array();
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      dims.push_back(dim.dim_value());
    }
    list.push_back({value.name(), dims, value.type().tensor_type().elem_type()});
  }
  return list;
}

std::string sha256(const std::string& bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

class SampleNetwork : public testing::TestWithParam<SampleKind> {};

TEST_P(SampleNetwork, TwoRunsGiveTheSameBytes) {
  const std::string first = make_sample(GetParam());
  EXPECT_TRUE(first == make_sample(GetParam()));
  std::cout << to_string(GetParam()) << ": " << first.size() << " bytes, SHA-256 " << sha256(first)
            << "\n";
}

TEST_P(SampleNetwork, EveryWeightIsFiniteFloat16) {
  const auto& model = parsed(GetParam());
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_LE(model.opset_import(0).version(), 17);
  size_t halves = 0;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_type() == onnx::TensorProto::INT64) continue;
    ASSERT_EQ(tensor.data_type(), onnx::TensorProto::FLOAT16) << tensor.name();
    const std::string& raw = tensor.raw_data();
    for (size_t at = 0; at < raw.size(); at += 2) {
      const auto low = static_cast<uint8_t>(raw[at]);
      const auto high = static_cast<uint8_t>(raw[at + 1]);
      // The largest constant is the middle of the pixels' range.
      ASSERT_LE(std::abs(half_to_float(static_cast<uint16_t>(low | high << 8))), 127.5F)
          << tensor.name();
    }
    halves += raw.size() / 2;
  }
  // FastViT-T12 has 8.6 M parameters with a head of 2048 (facts/test-material, Layers), upstream's
  // monitoring network about 3.6 M.
  if (GetParam() == SampleKind::kDrivingSmall) {
    EXPECT_LT(halves, 1'500'000u);
    return;
  }
  const bool monitoring = GetParam() == SampleKind::kMonitoring;
  EXPECT_GT(halves, monitoring ? 3'000'000u : 7'500'000u);
  EXPECT_LT(halves, monitoring ? 4'500'000u : 10'500'000u);
}

TEST_P(SampleNetwork, NodesAreOrderedAndNamed) {
  const auto& model = parsed(GetParam());
  std::set<std::string> known;
  for (const auto& input : model.graph().input()) known.insert(input.name());
  for (const auto& tensor : model.graph().initializer()) {
    EXPECT_TRUE(known.insert(tensor.name()).second) << tensor.name();
  }
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) {
    EXPECT_TRUE(names.insert(node.name()).second) << node.name();
    for (const auto& input : node.input()) EXPECT_TRUE(known.contains(input)) << node.name();
    for (const auto& output : node.output()) {
      EXPECT_TRUE(known.insert(output).second) << output;
    }
  }
  for (const auto& output : model.graph().output()) EXPECT_TRUE(known.contains(output.name()));
}

INSTANTIATE_TEST_SUITE_P(All, SampleNetwork,
                         testing::Values(SampleKind::kDriving, SampleKind::kDrivingStateful,
                                         SampleKind::kDrivingVision, SampleKind::kDrivingSmall,
                                         SampleKind::kMonitoring),
                         [](const auto& instance) {
                           std::string name(to_string(instance.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(SampleNetworks, NamesGoBothWays) {
  for (const auto name : sample_kind_names()) {
    const auto kind = parse_sample_kind(name);
    ASSERT_TRUE(kind.has_value()) << name;
    EXPECT_EQ(to_string(*kind), name);
  }
  EXPECT_FALSE(parse_sample_kind("Driving").has_value());
  EXPECT_FALSE(parse_sample_kind("").has_value());
}

// Facts/openpilot-interop 4.4, era D/E; element types 1 float32, 2 uint8, 10 float16.
TEST(SampleNetworks, DrivingHasTheInputsOfTheFacts) {
  const auto& model = parsed(SampleKind::kDriving);
  const json inputs = {{"img", {1, 12, 128, 256}, 2},    {"big_img", {1, 12, 128, 256}, 2},
                       {"desire_pulse", {1, 25, 8}, 10}, {"traffic_convention", {1, 2}, 10},
                       {"action_t", {1, 2}, 10},         {"features_buffer", {1, 24, 512}, 10}};
  EXPECT_EQ(signature(model.graph().input()), inputs);
  const json outputs = json::array({json::array({"outputs", {1, 2580}, 10})});
  EXPECT_EQ(signature(model.graph().output()), outputs);
}

// So that a daemon takes it for its fallback.
TEST(SampleNetworks, SmallDrivingHasInputsAndOutputsOfTheWhole) {
  const auto& whole = parsed(SampleKind::kDriving);
  const auto& small = parsed(SampleKind::kDrivingSmall);
  EXPECT_EQ(signature(small.graph().input()), signature(whole.graph().input()));
  EXPECT_EQ(signature(small.graph().output()), signature(whole.graph().output()));
  EXPECT_EQ(metadata(small, "output_slices"), metadata(whole, "output_slices"));
}

TEST(SampleNetworks, MonitoringHasTheInputsOfTheFacts) {
  const auto& model = parsed(SampleKind::kMonitoring);
  const json inputs = {{"input_img", {1, 1440 * 960}, 2}, {"calib", {1, 3}, 1}};
  EXPECT_EQ(signature(model.graph().input()), inputs);
  const json outputs = json::array({json::array({"outputs", {1, 553}, 10})});
  EXPECT_EQ(signature(model.graph().output()), outputs);
}

// The vector's network is a tiny one under the same wrapper: images of 2 x 3 instead of
// 128 x 256, 2 features instead of 512, 6 outputs instead of 2580.
TEST(SampleNetworks, StatefulHasTheSignatureOfUpstreamsWrapper) {
  MODELD_NEED_SHARED("data/vectors/history/eraF_signature.json");
  json expected = read_json("data/vectors/history/eraF_signature.json");
  for (const char* part : {"inputs", "outputs"}) {
    for (auto& value : expected[part]) {
      const std::string name = value[0];
      json& dims = value[1];
      if (name == "outputs") dims[1] = 2580;
      if (name.ends_with("_feat") || name.ends_with("feat_q")) dims.back() = 512;
      if (name == "warped" || name.ends_with("img_q")) {
        dims[2] = 128;
        dims[3] = 256;
      }
    }
  }
  const auto& model = parsed(SampleKind::kDrivingStateful);
  const auto by_name = [](const json& list) {
    std::map<std::string, json> sorted;
    for (const auto& value : list) sorted[value[0]] = value;
    return sorted;
  };
  EXPECT_EQ(by_name(signature(model.graph().input())), by_name(expected["inputs"]));
  EXPECT_EQ(by_name(signature(model.graph().output())), by_name(expected["outputs"]));
}

TEST(SampleNetworks, StatefulCarriesTheSameWeights) {
  const auto& plain = parsed(SampleKind::kDriving);
  const auto& stateful = parsed(SampleKind::kDrivingStateful);
  std::map<std::string, std::string> weights;
  for (const auto& tensor : stateful.graph().initializer()) {
    weights[tensor.name()] = tensor.raw_data();
  }
  for (const auto& tensor : plain.graph().initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT16) continue;
    EXPECT_TRUE(weights[tensor.name()] == tensor.raw_data()) << tensor.name();
  }
}

// The expected text was written by Python.
TEST(SampleNetworks, DrivingSlicesAreStoredAsOpenpilotStoresThem) {
  MODELD_NEED_SHARED("data/vectors/parse/output_slices_pickles.json");
  const auto cases = read_json("data/vectors/parse/output_slices_pickles.json");
  size_t compared = 0;
  for (const auto& entry : cases) {
    if (entry["name"] != "supercombo2580" || entry["pickle_protocol"] != 4) continue;
    EXPECT_EQ(metadata(parsed(SampleKind::kDriving), "output_slices"), entry["base64"]);
    EXPECT_EQ(metadata(parsed(SampleKind::kDrivingStateful), "output_slices"), entry["base64"]);
    ++compared;
  }
  EXPECT_EQ(compared, 1u);
}

}  // namespace
}  // namespace modeld::samples
