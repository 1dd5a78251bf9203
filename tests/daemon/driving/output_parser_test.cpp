#include "daemon/driving/output_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
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

// What must be left in the raw head: the recorded weights over the logits and, with one selection,
// the recorded (sorted) means; deviations stay where they were.
void expect_overwritten(std::span<const float> before, std::span<const float> after,
                        const parsing::HypothesisShape& shape, const std::string& head,
                        const test::Npz& npz, size_t row) {
  const auto weights = npz.row<float>("out." + head + "_weights", row);
  const auto means = npz.row<float>("out." + head + "_hypotheses", row);
  const auto same = [](std::span<const float> a, std::span<const float> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_number);
  };
  for (size_t i = 0; i < shape.rows; ++i) {
    const auto had = before.subspan(i * shape.row_size(), shape.row_size());
    const auto has = after.subspan(i * shape.row_size(), shape.row_size());
    const auto mean = [&](size_t k) { return means.subspan(k * shape.values, shape.values); };
    EXPECT_TRUE(same(has.first(shape.values), mean(i))) << head << " case " << row << " row " << i;
    EXPECT_TRUE(
        same(has.subspan(shape.values, shape.values), had.subspan(shape.values, shape.values)))
        << head << " case " << row << " row " << i;
    // The recorded weights lie where the row's means went.
    size_t at = 0;
    while (at < shape.rows && !same(mean(at), had.first(shape.values))) ++at;
    ASSERT_LT(at, shape.rows);
    for (size_t s = 0; s < shape.selections; ++s) {
      EXPECT_TRUE(same_number(has[2 * shape.values + s], weights[at * shape.selections + s]))
          << head << " case " << row << " row " << i << " weight " << s;
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
    std::vector<float> changed(raw.begin(), raw.end());
    const std::span<float> changed_span(changed);
    parser->write_back(outputs, std::span(&changed_span, 1));
    expect_overwritten(raw, changed, parsing::kPlanHypotheses, "plan", npz, row);
    expect_overwritten(raw.subspan(5755), std::span(changed).subspan(5755),
                       parsing::kLeadHypotheses, "lead", npz, row);
    for (const auto& [first, last] :
         {std::pair{4955, 5755}, {5857, 5860}, {5868, 5923}, {5955, 6512}}) {
      for (int i = first; i < last; ++i) ASSERT_TRUE(same_number(changed[i], raw[i])) << i;
    }
  }
}

// Facts 4.2: the parser that knew split networks limits its exp also where there are five plans.
TEST(DrivingOutputParser, FiveHypothesesOfASplitNetworkAreLimited) {
  MODELD_NEED_SHARED(vector_path("vision1576") + ".npz");
  OutputContract policy;
  policy.name = "policy";
  policy.type = {DType::kFloat32, {1, 4963}};
  policy.slices.resize(2);
  policy.slices[0].name = "plan";
  policy.slices[0].stop = 4955;
  policy.slices[1].name = "desire_state";
  policy.slices[1].start = 4955;
  policy.slices[1].stop = 4963;
  const OutputContract contracts[] = {vector_contract("vision1576"), policy};
  const auto parser = OutputParser::create(contracts);
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  const std::vector<float> vision(1576);
  std::vector<float> plans(4963);
  for (size_t row = 0; row < 5; ++row) plans[row * 991 + 495] = 50;  // a log-deviation
  const std::span<const float> raw[] = {vision, plans};
  ModelOutputs outputs;
  parser->parse(raw, outputs);
  EXPECT_EQ(outputs.plan.deviation[0], std::exp(11.0f));
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
  contract.slices.back().name = "hidden_state";
  const auto parser = OutputParser::create({&contract, 1});
  ASSERT_TRUE(parser.ok());
  EXPECT_EQ(parser->ignored_heads(), std::vector<std::string>{"hidden_state"});
}

// The slice tables of real files (facts 4.3): 48-, 53- and 55-wide metas in networks of five plans.
TEST(DrivingOutputParser, EveryRecordedSliceTableIsUnderstood) {
  MODELD_NEED_SHARED(vector_path("output_slices_pickles.json"));
  std::ifstream file(test::shared_path(vector_path("output_slices_pickles.json")));
  size_t metas = 0;
  for (const auto& table : nlohmann::json::parse(file)) {
    const auto slices = table.value("resolved", nlohmann::json::object());
    if (!slices.contains("plan") || !slices.contains("meta")) continue;
    OutputContract contract;
    contract.name = "outputs";
    contract.type = {DType::kFloat32, {1, table["total"].get<int64_t>()}};
    for (const auto& [name, range] : slices.items()) {
      OutputSlice slice;
      slice.name = name;
      slice.start = range[0];
      slice.stop = range[1];
      contract.slices.push_back(slice);
    }
    const auto parser = OutputParser::create({&contract, 1});
    ASSERT_TRUE(parser.ok()) << table["name"] << ": " << to_string(parser.error());
    const std::vector<float> zeros(static_cast<size_t>(contract.type.elements()));
    const std::span<const float> raw(zeros);
    ModelOutputs outputs;
    parser->parse({&raw, 1}, outputs);
    const auto width = slices["meta"][1].get<size_t>() - slices["meta"][0].get<size_t>();
    EXPECT_EQ(outputs.meta_layout->size, width) << table["name"];
    EXPECT_EQ(outputs.meta[width - 1], 0.5f);
    EXPECT_EQ(outputs.has_lat_planner_solution, slices.contains("lat_planner_solution"));
    metas |= width == 48 ? 1 : width == 53 ? 2 : width == 55 ? 4 : 8;
  }
  EXPECT_EQ(metas, 7u);
}

TEST(DrivingOutputParser, ReadsTheLateralPlan) {
  OutputContract contract = plain_contract();
  OutputSlice slice;
  slice.name = "lat_planner_solution";
  slice.start = contract.type.shape[1];
  slice.stop = contract.type.shape[1] += 264;
  contract.slices.push_back(slice);
  const auto parser = OutputParser::create({&contract, 1});
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  std::vector<float> values(static_cast<size_t>(contract.type.shape[1]));
  values[static_cast<size_t>(slice.start) + 131] = 3;         // the last mean
  values[static_cast<size_t>(slice.start) + 132 + 131] = 12;  // its log-deviation
  const std::span<const float> raw(values);
  ModelOutputs outputs;
  parser->parse({&raw, 1}, outputs);
  EXPECT_TRUE(outputs.has_lat_planner_solution);
  EXPECT_EQ(outputs.lat_planner_solution.mean[131], 3.0f);
  EXPECT_EQ(outputs.lat_planner_solution.deviation[131], std::exp(11.0f));
}

}  // namespace
}  // namespace modeld::driving
