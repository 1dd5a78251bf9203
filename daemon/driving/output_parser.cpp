#include "daemon/driving/output_parser.h"

#include <algorithm>
#include <array>

#include "daemon/parsing/activations.h"

namespace modeld::driving {
namespace {

using parsing::HeadPlace;
using parsing::HeadRule;
using Raw = std::span<const float>;
using Parse = void (*)(Raw raw, ModelOutputs& out);

template <auto Member>
void parse_estimate(Raw raw, ModelOutputs& out) {
  parsing::split_mdn(raw, (out.*Member).mean, (out.*Member).deviation);
}

template <auto Member>
void parse_sigmoid(Raw raw, ModelOutputs& out) {
  parsing::sigmoid_all(raw, out.*Member);
}

template <auto Member>
void parse_softmax(Raw raw, ModelOutputs& out) {
  const std::span<float> all(out.*Member);
  for (size_t at = 0; at < all.size(); at += kDesireCount) {
    parsing::softmax8(raw.subspan(at).first<kDesireCount>(), all.subspan(at).first<kDesireCount>());
  }
}

void parse_action(Raw raw, ModelOutputs& out) {
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
  kHeadCount,
};

// In the order of Head.
constexpr std::array<HeadRule, kHeadCount> kRules{{{"plan", 990},
                                                   {"lane_lines", 528},
                                                   {"lane_lines_prob", 8},
                                                   {"road_edges", 264},
                                                   {"lead", 144},
                                                   {"lead_prob", 3},
                                                   {"desire_state", 8},
                                                   {"desire_pred", 32},
                                                   {"meta", kMetaSize},
                                                   {"pose", 12},
                                                   {"road_transform", 12},
                                                   {"wide_from_device_euler", 6},
                                                   {"action", 4, false}}};

constexpr std::array<Parse, kHeadCount> kParsers{
    parse_estimate<&ModelOutputs::plan>,
    parse_estimate<&ModelOutputs::lane_lines>,
    parse_sigmoid<&ModelOutputs::lane_lines_prob>,
    parse_estimate<&ModelOutputs::road_edges>,
    parse_estimate<&ModelOutputs::lead>,
    parse_sigmoid<&ModelOutputs::lead_prob>,
    parse_softmax<&ModelOutputs::desire_state>,
    parse_softmax<&ModelOutputs::desire_pred>,
    parse_sigmoid<&ModelOutputs::meta>,
    parse_estimate<&ModelOutputs::pose>,
    parse_estimate<&ModelOutputs::road_transform>,
    parse_estimate<&ModelOutputs::wide_from_device_euler>,
    parse_action,
};

}  // namespace

Result<OutputParser> OutputParser::create(std::span<const OutputContract> outputs) {
  OutputParser parser;
  MODELD_ASSIGN(parser.places_, parsing::locate_heads(outputs, kRules, parser.ignored_));
  return parser;
}

void OutputParser::parse(std::span<const std::span<const float>> raw, ModelOutputs& out) const {
  for (size_t i = 0; i < kHeadCount; ++i) {
    const HeadPlace& place = places_[i];
    if (place.size != 0) kParsers[i](raw[place.output].subspan(place.start, place.size), out);
  }
  out.has_action = places_[kAction].size != 0;
}

void OutputParser::write_back(const ModelOutputs& outputs,
                              std::span<const std::span<float>> raw) const {
  const auto put = [&](const HeadPlace& place, std::span<const float> values) {
    std::copy(values.begin(), values.end(),
              raw[place.output].begin() + static_cast<ptrdiff_t>(place.start));
  };
  put(places_[kDesireState], outputs.desire_state);
  put(places_[kDesirePred], outputs.desire_pred);
}

}  // namespace modeld::driving
