#include <array>

#include "tools/images/draw.h"
#include "tools/images/shading.h"

namespace modeld {
namespace {

constexpr float kCameraHeight = 1.22F;  // m
constexpr float kBend = 0.0004F;        // 1/m: the road's middle lies at kBend * z^2
constexpr float kHazeDistance = 350;    // m
constexpr std::array<float, 4> kLines{-5.4F, -1.8F, 1.8F, 5.4F};
constexpr float kLineHalf = 0.075F;  // m
constexpr float kRoadHalf = 7;       // m

constexpr Colour kHaze{0.83F, 0.87F, 0.91F};
constexpr Colour kPaint{0.93F, 0.93F, 0.9F};

// A vehicle seen from behind.
struct Vehicle {
  float side = 0;      // m from the middle of the road
  float distance = 0;  // m
  float width = 0;     // m
  float height = 0;    // m
  bool lorry = false;
  Colour body;
};
constexpr std::array<Vehicle, 2> kVehicles{{{-3.6F, 45, 2.5F, 3.6F, true, {0.85F, 0.85F, 0.82F}},
                                            {0.1F, 22, 1.8F, 1.45F, false, {0.15F, 0.25F, 0.5F}}}};

Colour hazy(Colour colour, float distance) {
  return mix(kHaze, colour, std::exp(-distance / kHazeDistance));
}

// `right` and `up` are slopes (m per m of distance) from the camera's axis; `up` > 0.
Colour sky(float right, float up) {
  const float hills = 0.02F + 0.02F * soft_noise(right * 6 + 11, 0.5F);
  const float trees =
      0.01F + 0.05F * soft_noise(right * 24, 3) * smooth_step(0.08F, 0.3F, std::abs(right));
  if (up < trees) {
    const float leaves = soft_noise(right * 300, up * 300);
    return hazy(Colour{0.12F, 0.25F, 0.12F} * (0.6F + 0.8F * leaves), 120);
  }
  if (up < hills) return hazy({0.3F, 0.42F, 0.4F}, 500);
  const float clouds =
      soft_noise(right * 7, up * 22) * 0.6F + soft_noise(right * 19, up * 55) * 0.4F;
  const Colour blue = mix(kHaze, {0.35F, 0.55F, 0.85F}, up * 2.2F);
  return mix(blue, {0.97F, 0.97F, 0.98F}, smooth_step(0.5F, 0.75F, clouds));
}

bool on_line(float side, float distance) {
  for (size_t i = 0; i < kLines.size(); ++i) {
    if (std::abs(side - kLines[i]) > kLineHalf) continue;
    const bool dashed = i == 1 || i == 2;
    if (!dashed || std::fmod(distance + 1, 9.0F) < 3) return true;
  }
  return false;
}

Colour asphalt(float side, float distance) {
  if (on_line(side, distance)) return kPaint * (0.9F + 0.1F * soft_noise(side * 40, distance * 9));
  const float grain = soft_noise(side * 30, distance * 12) - 0.5F;
  // Tyres polish two tracks in every lane.
  const float in_lane = std::fmod(std::abs(side) + 1.8F, 3.6F) - 1.8F;
  const float track = std::abs(std::abs(in_lane) - 0.75F);
  const float grey = 0.38F + 0.08F * grain - 0.04F * (1 - smooth_step(0.1F, 0.4F, track));
  return {grey, grey, grey * 1.02F};
}

Colour ground(float side, float distance) {
  const float outside = std::abs(side) - kRoadHalf;
  if (outside < 0) return hazy(asphalt(side, distance), distance);
  const float rough = soft_noise(side * 7, distance * 4);
  if (outside < 1.2F) return hazy(Colour{0.55F, 0.5F, 0.42F} * (0.8F + 0.4F * rough), distance);
  return hazy(Colour{0.28F, 0.42F, 0.16F} * (0.7F + 0.6F * rough), distance);
}

// `across` -1..1 from left to right, `up` 0..1 from the ground to the roof.
Colour lorry_rear(Colour body, float across, float up) {
  if (up < 0.12F) return {0.06F, 0.06F, 0.07F};
  if (up < 0.2F && std::abs(across) > 0.75F) return {0.75F, 0.08F, 0.06F};
  if (std::abs(across) < 0.02F || up > 0.97F || std::abs(across) > 0.97F) return body * 0.6F;
  return body * (0.95F + 0.05F * up);
}

Colour car_rear(Colour body, float across, float up) {
  const float side = std::abs(across);
  if (up < 0.14F) return side > 0.6F ? Colour{0.04F, 0.04F, 0.04F} : Colour{0.1F, 0.1F, 0.1F};
  if (up < 0.32F && side < 0.28F && up > 0.2F) return {0.9F, 0.9F, 0.85F};   // plate
  if (up > 0.42F && up < 0.54F && side > 0.62F) return {0.8F, 0.1F, 0.08F};  // lights
  if (up > 0.6F && up < 0.92F && side < 0.72F - 0.3F * (up - 0.6F)) {
    return mix({0.1F, 0.12F, 0.15F}, {0.35F, 0.42F, 0.5F}, (up - 0.6F) * 3);  // window
  }
  return body * (0.7F + 0.6F * up);
}

// The cars' outlines narrow above the waist.
bool in_outline(const Vehicle& vehicle, float across, float up) {
  if (up < 0 || up > 1 || std::abs(across) > 1) return false;
  if (vehicle.lorry) return true;
  const float half = up < 0.55F ? 1 : 1 - 0.75F * (up - 0.55F);
  const bool between_wheels = up < 0.08F && std::abs(across) < 0.6F;
  return std::abs(across) < half && !between_wheels;
}

// The nearest vehicle at this point, if any.
bool vehicle_at(float right, float up, Colour& colour) {
  bool found = false;
  for (const Vehicle& vehicle : kVehicles) {
    const float middle = vehicle.side + kBend * vehicle.distance * vehicle.distance;
    const float across = (right * vehicle.distance - middle) / (vehicle.width / 2);
    const float above = (up * vehicle.distance + kCameraHeight) / vehicle.height;
    if (!in_outline(vehicle, across, above)) continue;
    colour = hazy(vehicle.lorry ? lorry_rear(vehicle.body, across, above)
                                : car_rear(vehicle.body, across, above),
                  vehicle.distance);
    found = true;
  }
  return found;
}

float shadow(float side, float distance) {
  float light = 1;
  for (const Vehicle& vehicle : kVehicles) {
    const float x = side - vehicle.side;
    const float z = distance - vehicle.distance - 1;
    if (in_ellipse(x, z, vehicle.width * 0.6F, 3)) light = 0.45F;
  }
  return light;
}

Colour road_point(float right, float up) {
  Colour colour;
  if (vehicle_at(right, up, colour)) return colour;
  if (up >= 0) return sky(right, up);
  const float distance = -kCameraHeight / up;
  const float side = right * distance - kBend * distance * distance;
  return ground(side, distance) * shadow(side, distance);
}

}  // namespace

Result<RgbImage> draw_road_scene(uint32_t width, uint32_t height) {
  MODELD_ASSIGN(RgbImage image, make_image(width, height));
  const auto focal = static_cast<float>(width);
  const float middle = static_cast<float>(width) / 2;
  const float horizon = static_cast<float>(height) * 0.45F;
  paint(image,
        [&](float x, float y) { return road_point((x - middle) / focal, (horizon - y) / focal); });
  return image;
}

}  // namespace modeld
