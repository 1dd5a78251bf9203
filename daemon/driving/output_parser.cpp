#include "daemon/driving/output_parser.h"

#include <algorithm>
#include <array>

#include "daemon/parsing/activations.h"
#include "daemon/parsing/hypotheses.h"

namespace modeld::driving {
namespace {

using parsing::HeadPlace;
using parsing::HeadRule;
using Raw = std::span<const float>;
using Parse = void (*)(Raw raw, ModelOutputs& out, float limit);

template <auto Member>
void parse_estimate(Raw raw, ModelOutputs& out, float limit) {
  parsing::split_mdn(raw, (out.*Member).mean, (out.*Member).deviation, limit);
}

// One hypothesis, or several of which each selection takes its heaviest.
template <auto Member>
void parse_hypotheses(Raw raw, ModelOutputs& out, float limit,
                      const parsing::HypothesisShape& shape) {
  auto& estimate = out.*Member;
  if (raw.size() != shape.size()) return parse_estimate<Member>(raw, out, limit);
  for (size_t i = 0; i < shape.selections; ++i) {
    const size_t row = parsing::chosen_hypothesis(raw, shape, i);
    const size_t first = i * shape.values;
    parsing::split_mdn(raw.subspan(row * shape.row_size(), 2 * shape.values),
                       std::span(estimate.mean).subspan(first, shape.values),
                       std::span(estimate.deviation).subspan(first, shape.values), limit);
  }
}

void parse_plan(Raw raw, ModelOutputs& out, float limit) {
  parse_hypotheses<&ModelOutputs::plan>(raw, out, limit, parsing::kPlanHypotheses);
}

void parse_lead(Raw raw, ModelOutputs& out, float limit) {
  parse_hypotheses<&ModelOutputs::lead>(raw, out, limit, parsing::kLeadHypotheses);
}

template <auto Member>
void parse_sigmoid(Raw raw, ModelOutputs& out, float limit) {
  parsing::sigmoid_all(raw, out.*Member, limit);
}

template <auto Member>
void parse_softmax(Raw raw, ModelOutputs& out, float) {
  const std::span<float> all(out.*Member);
  for (size_t at = 0; at < all.size(); at += kDesireCount) {
    parsing::softmax8(raw.subspan(at).first<kDesireCount>(), all.subspan(at).first<kDesireCount>());
  }
}

void parse_meta(Raw raw, ModelOutputs& out, float limit) {
  for (const MetaLayout& layout : kMetaLayouts) {
    if (layout.size == raw.size()) out.meta_layout = &layout;
  }
  parsing::sigmoid_all(raw, std::span(out.meta).first(raw.size()), limit);
}

void parse_action(Raw raw, ModelOutputs& out, float) {
  std::copy_n(raw.begin(), out.action.size(), out.action.begin());
}

enum Head : size_t {
  kPlan,
  kLaneLines,
  kLaneLinesProb,
  kRoadEdges,
  kLead,
  kLeadProb,
  kDesireState,
  kDesirePred,
  kMeta,
  kPose,
  kRoadTransform,
  kWideFromDeviceEuler,
  kAction,
  kSimPose,
  kDesiredCurvature,
  kLatPlannerSolution,
  kHeadCount,
};

// In the order of Head.
constexpr std::array<HeadRule, kHeadCount> kRules{
    {{"plan", 990, true, {parsing::kPlanHypotheses.size()}},
     {"lane_lines", 528},
     {"lane_lines_prob", 8},
     {"road_edges", 264},
     {"lead", 144, true, {parsing::kLeadHypotheses.size()}},
     {"lead_prob", 3},
     {"desire_state", 8},
     {"desire_pred", 32},
     {"meta", kMetaLayouts[0].size, true, {kMetaLayouts[1].size, kMetaLayouts[2].size}},
     {"pose", 12},
     {"road_transform", 12},
     {"wide_from_device_euler", 6},
     {"action", 4, false},
     {"sim_pose", 12, false},
     {"desired_curvature", 2, false},
     {"lat_planner_solution", 264, false}}};

constexpr std::array<Parse, kHeadCount> kParsers{
    parse_plan,
    parse_estimate<&ModelOutputs::lane_lines>,
    parse_sigmoid<&ModelOutputs::lane_lines_prob>,
    parse_estimate<&ModelOutputs::road_edges>,
    parse_lead,
    parse_sigmoid<&ModelOutputs::lead_prob>,
    parse_softmax<&ModelOutputs::desire_state>,
    parse_softmax<&ModelOutputs::desire_pred>,
    parse_meta,
    parse_estimate<&ModelOutputs::pose>,
    parse_estimate<&ModelOutputs::road_transform>,
    parse_estimate<&ModelOutputs::wide_from_device_euler>,
    parse_action,
    parse_estimate<&ModelOutputs::sim_pose>,
    parse_estimate<&ModelOutputs::desired_curvature>,
    parse_estimate<&ModelOutputs::lat_planner_solution>,
};

}  // namespace

Result<OutputParser> OutputParser::create(std::span<const OutputContract> outputs) {
  OutputParser parser;
  MODELD_ASSIGN(parser.places_, parsing::locate_heads(outputs, kRules, parser.ignored_));
  // The single networks with five plans came with a parser that did not limit its exp; the one that
  // came with the split networks did.
  const HeadPlace& plan = parser.places_[kPlan];
  const bool oldest =
      plan.size == parsing::kPlanHypotheses.size() && plan.output == parser.places_[kPose].output;
  parser.exp_limit_ = oldest ? parsing::kNoExpLimit : parsing::kExpLimit;
  return parser;
}

void OutputParser::parse(std::span<const std::span<const float>> raw, ModelOutputs& out) const {
  for (size_t i = 0; i < kHeadCount; ++i) {
    const HeadPlace& place = places_[i];
    if (place.size == 0) continue;
    kParsers[i](raw[place.output].subspan(place.start, place.size), out, exp_limit_);
  }
  out.has_action = places_[kAction].size != 0;
  out.has_sim_pose = places_[kSimPose].size != 0;
  out.has_desired_curvature = places_[kDesiredCurvature].size != 0;
  out.has_lat_planner_solution = places_[kLatPlannerSolution].size != 0;
}

void OutputParser::write_back(const ModelOutputs& outputs,
                              std::span<const std::span<float>> raw) const {
  const auto put = [&](const HeadPlace& place, std::span<const float> values) {
    std::copy(values.begin(), values.end(),
              raw[place.output].begin() + static_cast<ptrdiff_t>(place.start));
  };
  put(places_[kDesireState], outputs.desire_state);
  put(places_[kDesirePred], outputs.desire_pred);
  const auto overwrite = [&](const HeadPlace& place, const parsing::HypothesisShape& shape) {
    if (place.size != shape.size()) return;
    parsing::overwrite_hypotheses(raw[place.output].subspan(place.start, place.size), shape);
  };
  overwrite(places_[kPlan], parsing::kPlanHypotheses);
  overwrite(places_[kLead], parsing::kLeadHypotheses);
}

}  // namespace modeld::driving
