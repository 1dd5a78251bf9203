#include "daemon/driving/output_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/parsing/activations.h"
#include "daemon/parsing/hypotheses.h"
#include "tests/daemon/vector_contract.h"
#include "tests/support/npz.h"

namespace modeld::driving {
namespace {

using test::same_number;
using test::vector_contract;

std::string vector_path(const std::string& layout) {
  return "data/vectors/parse/" + layout;
}

void expect_same(std::span<const float> have, const test::Npz& npz, const std::string& name,
                 size_t row) {
  const auto want = npz.row<float>("out." + name, row);
  ASSERT_EQ(have.size(), want.size()) << name;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(same_number(have[i], want[i]))
        << name << " case " << row << " entry " << i << ": " << have[i] << " for " << want[i];
  }
}

template <size_t N>
void expect_same(const Estimate<N>& have, const test::Npz& npz, const std::string& name,
                 size_t row) {
  expect_same(have.mean, npz, name, row);
  expect_same(have.deviation, npz, name + "_stds", row);
}

void expect_vision(const ModelOutputs& have, const test::Npz& npz, size_t row) {
  expect_same(have.lane_lines, npz, "lane_lines", row);
  expect_same(have.lane_lines_prob, npz, "lane_lines_prob", row);
  expect_same(have.road_edges, npz, "road_edges", row);
  expect_same(have.meta, npz, "meta", row);
  expect_same(have.desire_pred, npz, "desire_pred", row);
  expect_same(have.pose, npz, "pose", row);
  expect_same(have.wide_from_device_euler, npz, "wide_from_device_euler", row);
  expect_same(have.road_transform, npz, "road_transform", row);
  expect_same(have.lead, npz, "lead", row);
  expect_same(have.lead_prob, npz, "lead_prob", row);
}

void expect_policy(const ModelOutputs& have, const test::Npz& npz, size_t row) {
  expect_same(have.plan, npz, "plan", row);
  expect_same(have.desire_state, npz, "desire_state", row);
}

TEST(DrivingOutputParser, OneNetworkEqualsTheOriginal) {
  MODELD_NEED_SHARED(vector_path("supercombo2580") + ".npz");
  const test::Npz npz(test::shared_path(vector_path("supercombo2580") + ".npz"));
  const OutputContract contract = vector_contract("supercombo2580");
  const auto parser = OutputParser::create({&contract, 1});
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  EXPECT_EQ(parser->ignored_heads().size(), 2u);  // hidden_state, pad
  ModelOutputs outputs;
  const size_t cases = npz.array("raw").shape[0];
  ASSERT_EQ(cases, 17u);
  for (size_t row = 0; row < cases; ++row) {
    const auto raw = npz.row<float>("raw", row);
    parser->parse(std::span(&raw, 1), outputs);
    expect_vision(outputs, npz, row);
    expect_policy(outputs, npz, row);
    EXPECT_TRUE(outputs.has_action);
    EXPECT_TRUE(same_number(outputs.action[0], raw[2062]));
    EXPECT_TRUE(same_number(outputs.action[1], raw[2063]));

    std::vector<float> changed(raw.begin(), raw.end());
    const std::span<float> changed_span(changed);
    parser->write_back(outputs, std::span(&changed_span, 1));
    const auto want = npz.row<float>("raw_after_parse", row);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_TRUE(same_number(changed[i], want[i])) << "case " << row << " entry " << i;
    }
  }
}

TEST(DrivingOutputParser, TwoNetworksEqualTheOriginal) {
  MODELD_NEED_SHARED(vector_path("vision1576") + ".npz");
  const test::Npz vision(test::shared_path(vector_path("vision1576") + ".npz"));
  const test::Npz policy(test::shared_path(vector_path("policy1000") + ".npz"));
  const OutputContract contracts[] = {vector_contract("vision1576"), vector_contract("policy1000")};
  const auto parser = OutputParser::create(contracts);
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  ModelOutputs outputs;
  outputs.has_action = true;
  for (size_t row = 0; row < 17; ++row) {
    const std::span<const float> raw[] = {vision.row<float>("raw", row),
                                          policy.row<float>("raw", row)};
    parser->parse(raw, outputs);
    expect_vision(outputs, vision, row);
    expect_policy(outputs, policy, row);
    EXPECT_FALSE(outputs.has_action);
  }
}

// Weights, and with one selection the rows in their order, of every hypothesis.
void expect_hypotheses(std::span<const float> raw, const parsing::HypothesisShape& shape,
                       const std::string& head, float limit, const test::Npz& npz, size_t row) {
  const auto weights = npz.row<float>("out." + head + "_weights", row);
  const auto means = npz.row<float>("out." + head + "_hypotheses", row);
  const auto deviations = npz.row<float>("out." + head + "_stds_hypotheses", row);
  ASSERT_EQ(weights.size(), shape.rows * shape.selections);
  ASSERT_EQ(means.size(), shape.rows * shape.values);
  for (size_t selection = 0; selection < shape.selections; ++selection) {
    const auto have = parsing::hypothesis_weights(raw, shape, selection);
    const auto order = parsing::heaviest_first(std::span(have).first(shape.rows));
    for (size_t i = 0; i < shape.rows; ++i) {
      const size_t from = shape.selections == 1 ? order[i] : i;
      EXPECT_TRUE(same_number(have[from], weights[i * shape.selections + selection]))
          << head << " case " << row << " weight " << i << " of " << selection;
      for (size_t k = 0; k < shape.values; ++k) {
        const float* values = raw.data() + from * shape.row_size();
        const size_t at = i * shape.values + k;
        ASSERT_TRUE(same_number(values[k], means[at])) << head << " case " << row << " " << at;
        ASSERT_TRUE(same_number(parsing::safe_exp(values[shape.values + k], limit), deviations[at]))
            << head << " case " << row << " deviation " << at;
      }
    }
  }
}

TEST(DrivingOutputParser, FiveHypothesesEqualTheOriginal) {
  MODELD_NEED_SHARED(vector_path("supercombo6512_mhp") + ".npz");
  const test::Npz npz(test::shared_path(vector_path("supercombo6512_mhp") + ".npz"));
  const OutputContract contract = vector_contract("supercombo6512_mhp");
  const auto parser = OutputParser::create({&contract, 1});
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  EXPECT_EQ(parser->ignored_heads().size(), 2u);  // hidden_state, pad
  ModelOutputs outputs;
  const size_t cases = npz.array("raw").shape[0];
  ASSERT_EQ(cases, 27u);
  for (size_t row = 0; row < cases; ++row) {
    const auto raw = npz.row<float>("raw", row);
    parser->parse(std::span(&raw, 1), outputs);
    expect_vision(outputs, npz, row);
    expect_policy(outputs, npz, row);
    EXPECT_FALSE(outputs.has_action);
    EXPECT_TRUE(outputs.has_sim_pose && outputs.has_desired_curvature);
    expect_same(outputs.sim_pose, npz, "sim_pose", row);
    expect_same(outputs.desired_curvature, npz, "desired_curvature", row);
    expect_hypotheses(raw.first(4955), parsing::kPlanHypotheses, "plan", parsing::kNoExpLimit, npz,
                      row);
    expect_hypotheses(raw.subspan(5755, 102), parsing::kLeadHypotheses, "lead",
                      parsing::kNoExpLimit, npz, row);
  }
}

TEST(DrivingOutputParser, TwoLeadHypothesesEqualTheOriginal) {
  MODELD_NEED_SHARED(vector_path("vision1536_lead102") + ".npz");
  const test::Npz vision(test::shared_path(vector_path("vision1536_lead102") + ".npz"));
  const test::Npz policy(test::shared_path(vector_path("policy1000") + ".npz"));
  const OutputContract contracts[] = {vector_contract("vision1536_lead102"),
                                      vector_contract("policy1000")};
  const auto parser = OutputParser::create(contracts);
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  ModelOutputs outputs;
  for (size_t row = 0; row < 27; ++row) {
    const std::span<const float> raw[] = {vision.row<float>("raw", row),
                                          policy.row<float>("raw", 0)};
    parser->parse(raw, outputs);
    expect_vision(outputs, vision, row);
    expect_hypotheses(raw[0].subspan(917, 102), parsing::kLeadHypotheses, "lead",
                      parsing::kExpLimit, vision, row);
    EXPECT_FALSE(outputs.has_sim_pose);
  }
}

// A contract of the right heads, one after another (sizes: facts 4.2).
OutputContract plain_contract() {
  const std::pair<const char*, int64_t> heads[] = {
      {"plan", 990}, {"lane_lines", 528}, {"lane_lines_prob", 8}, {"road_edges", 264},
      {"lead", 144}, {"lead_prob", 3},    {"desire_state", 8},    {"desire_pred", 32},
      {"meta", 55},  {"pose", 12},        {"road_transform", 12}, {"wide_from_device_euler", 6},
      {"action", 4}};
  OutputContract output;
  output.name = "outputs";
  int64_t at = 0;
  for (const auto& [name, size] : heads) {
    OutputSlice slice;
    slice.name = name;
    slice.start = at;
    slice.stop = at += size;
    output.slices.push_back(slice);
  }
  output.type = {DType::kFloat32, {1, at}};
  return output;
}

Error refusal(const OutputContract& contract) {
  const auto parser = OutputParser::create({&contract, 1});
  EXPECT_FALSE(parser.ok());
  return parser.ok() ? Error() : parser.error();
}

TEST(DrivingOutputParser, OnlyTheActionHeadIsOptional) {
  const OutputContract whole = plain_contract();
  EXPECT_TRUE(OutputParser::create({&whole, 1}).ok());
  for (size_t i = 0; i < whole.slices.size(); ++i) {
    OutputContract contract = whole;
    contract.slices.erase(contract.slices.begin() + static_cast<ptrdiff_t>(i));
    if (whole.slices[i].name == "action") {
      EXPECT_TRUE(OutputParser::create({&contract, 1}).ok());
      continue;
    }
    const Error error = refusal(contract);
    EXPECT_EQ(error.code, ErrorCode::kRefused);
    EXPECT_EQ(error.message, "output head '" + whole.slices[i].name + "' is missing");
  }
}

TEST(DrivingOutputParser, RefusesOtherSizesByName) {
  OutputContract contract = plain_contract();
  contract.type.shape = {1, 100000};
  for (size_t i = 0; i < contract.slices.size(); ++i) {
    OutputContract other = contract;
    ++other.slices[i].stop;
    const Error error = refusal(other);
    EXPECT_EQ(error.message, "output head '" + other.slices[i].name + "' has an unknown size");
    EXPECT_NE(error.expected, error.found);
  }
}

TEST(DrivingOutputParser, RefusesHeadsOutsideTheirOutput) {
  OutputContract contract = plain_contract();
  contract.type.shape = {1, contract.type.shape[1] - 1};  // cuts the last head
  EXPECT_EQ(refusal(contract).message, "output head 'action' lies outside its output");
  contract = plain_contract();
  contract.slices[0].start = -990;
  contract.slices[0].stop = 0;
  EXPECT_EQ(refusal(contract).message, "output head 'plan' lies outside its output");
  contract = plain_contract();
  std::swap(contract.slices[0].start, contract.slices[0].stop);
  contract.slices[0].start = 990;
  EXPECT_EQ(refusal(contract).message, "output head 'plan' lies outside its output");
}

TEST(DrivingOutputParser, RefusesHeadsNamedTwiceAndOtherTypes) {
  OutputContract contract = plain_contract();
  contract.slices.push_back(contract.slices[0]);
  EXPECT_EQ(refusal(contract).message, "output head 'plan' is named twice");
  contract = plain_contract();
  contract.type.dtype = DType::kFloat16;
  EXPECT_EQ(refusal(contract).message, "output head 'plan' is not of the type parsers read");
}

TEST(DrivingOutputParser, SaysWhatItIgnores) {
  OutputContract contract = plain_contract();
  contract.slices.back().name = "lat_planner_solution";
  const auto parser = OutputParser::create({&contract, 1});
  ASSERT_TRUE(parser.ok());
  EXPECT_EQ(parser->ignored_heads(), std::vector<std::string>{"lat_planner_solution"});
}

}  // namespace
}  // namespace modeld::driving
