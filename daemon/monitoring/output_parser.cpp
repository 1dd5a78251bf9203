#include "daemon/monitoring/output_parser.h"

#include <algorithm>
#include <array>

#include "daemon/monitoring/single_driver_heads.h"
#include "daemon/parsing/activations.h"

namespace modeld::monitoring {
namespace {

using parsing::HeadPlace;
using parsing::HeadRule;

struct ProbabilityRule {
  HeadRule left;
  HeadRule right;
  float DriverOutputs::*value;
};

constexpr std::array<ProbabilityRule, 8> kProbabilities{{
    {{"face_prob_lhd", 1}, {"face_prob_rhd", 1}, &DriverOutputs::face_prob},
    {{"left_eye_prob_lhd", 1}, {"left_eye_prob_rhd", 1}, &DriverOutputs::left_eye_prob},
    {{"right_eye_prob_lhd", 1}, {"right_eye_prob_rhd", 1}, &DriverOutputs::right_eye_prob},
    {{"left_blink_prob_lhd", 1}, {"left_blink_prob_rhd", 1}, &DriverOutputs::left_blink_prob},
    {{"right_blink_prob_lhd", 1}, {"right_blink_prob_rhd", 1}, &DriverOutputs::right_blink_prob},
    {{"sunglasses_prob_lhd", 1}, {"sunglasses_prob_rhd", 1}, &DriverOutputs::sunglasses_prob},
    {{"using_phone_prob_lhd", 1}, {"using_phone_prob_rhd", 1}, &DriverOutputs::using_phone_prob},
    {{"sleep_prob_lhd", 1, false}, {"sleep_prob_rhd", 1, false}, &DriverOutputs::sleep_prob},
}};

// Orientation, position and an unused value, then their log-deviations.
constexpr size_t kFaceValues = 6;

// Places in the order: wheel, left face, right face, then left and right of each probability.
constexpr size_t kWheel = 0;
constexpr size_t kLeftFace = 1;
constexpr size_t kRightFace = 2;
constexpr size_t kFirstProbability = 3;
constexpr size_t kHeadCount = kFirstProbability + 2 * kProbabilities.size();

constexpr std::array<HeadRule, kHeadCount> make_rules() {
  std::array<HeadRule, kHeadCount> rules{};
  rules[kWheel] = {"wheel_on_right", 1};
  rules[kLeftFace] = {"face_descs_lhd", 2 * kFaceValues};
  rules[kRightFace] = {"face_descs_rhd", 2 * kFaceValues};
  for (size_t i = 0; i < kProbabilities.size(); ++i) {
    rules[kFirstProbability + 2 * i] = kProbabilities[i].left;
    rules[kFirstProbability + 2 * i + 1] = kProbabilities[i].right;
  }
  return rules;
}
constexpr std::array<HeadRule, kHeadCount> kRules = make_rules();

bool knows_a_single_driver(std::span<const OutputContract> outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const OutputContract& output) {
    return output.find_slice(kSingleFaceHead) != nullptr;
  });
}

void set_face(std::span<const float, kFaceValues> mean,
              std::span<const float, kFaceValues> deviation, DriverOutputs& out) {
  std::copy_n(mean.begin(), 3, out.face_orientation.begin());
  std::copy_n(mean.begin() + 3, 2, out.face_position.begin());
  std::copy_n(deviation.begin(), 3, out.face_orientation_deviation.begin());
  std::copy_n(deviation.begin() + 3, 2, out.face_position_deviation.begin());
}

void parse_face(std::span<const float> raw, DriverOutputs& out) {
  std::array<float, kFaceValues> mean;
  std::array<float, kFaceValues> deviation;
  parsing::split_mdn(raw, mean, deviation);
  set_face(mean, deviation, out);
}

}  // namespace

Result<OutputParser> OutputParser::create(std::span<const OutputContract> outputs,
                                          DriverSeat seat) {
  OutputParser parser;
  parser.seat_ = seat;
  parser.single_driver_ = knows_a_single_driver(outputs);
  const std::span<const HeadRule> rules =
      parser.single_driver_ ? std::span<const HeadRule>(kSingleDriverRules) : kRules;
  MODELD_ASSIGN(parser.places_, parsing::locate_heads(outputs, rules, parser.ignored_));
  return parser;
}

void OutputParser::parse_single(std::span<const std::span<const float>> raw,
                                MonitoringOutputs& out) const {
  const auto head = [&](size_t index) {
    return raw[places_[index].output].subspan(places_[index].start, places_[index].size);
  };
  const bool right = seat_ == DriverSeat::kRight;
  DriverOutputs& driver = right ? out.right : out.left;
  out.wheel_on_right_prob = right ? 1.0f : 0.0f;
  const auto face = head(0);
  std::array<float, kFaceValues> deviation;
  std::transform(face.begin() + kFaceValues, face.end(), deviation.begin(), softplus);
  set_face(face.first<kFaceValues>(), deviation, driver);
  for (size_t i = 0; i < kSingleDriverValues.size(); ++i) {
    driver.*kSingleDriverValues[i] = head(1 + i)[0];
  }
}

void OutputParser::parse(std::span<const std::span<const float>> raw,
                         MonitoringOutputs& out) const {
  if (single_driver_) return parse_single(raw, out);
  const auto head = [&](size_t index) {
    const HeadPlace& place = places_[index];
    return raw[place.output].subspan(place.start, place.size);
  };
  const auto probability = [&](size_t index) {
    return places_[index].size == 0 ? 0.0f : parsing::sigmoid(head(index)[0]);
  };
  out.wheel_on_right_prob = probability(kWheel);
  parse_face(head(kLeftFace), out.left);
  parse_face(head(kRightFace), out.right);
  for (size_t i = 0; i < kProbabilities.size(); ++i) {
    out.left.*kProbabilities[i].value = probability(kFirstProbability + 2 * i);
    out.right.*kProbabilities[i].value = probability(kFirstProbability + 2 * i + 1);
  }
}

}  // namespace modeld::monitoring
