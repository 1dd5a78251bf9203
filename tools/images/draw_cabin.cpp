#include "tools/images/draw.h"
#include "tools/images/shading.h"

namespace modeld {
namespace {

constexpr Colour kSkin{0.82F, 0.62F, 0.5F};
constexpr Colour kHair{0.17F, 0.11F, 0.08F};
constexpr Colour kShirt{0.35F, 0.42F, 0.55F};
constexpr Colour kSeat{0.2F, 0.2F, 0.22F};

constexpr float kDriverSide = 0.3F;
constexpr float kPassengerSide = -0.42F;

// Points are in units of the picture's height from its middle, x to the right, y down.
Colour interior(float x, float y) {
  const Colour wall = Colour{0.13F, 0.13F, 0.14F} * (0.85F + 0.3F * soft_noise(x * 60, y * 60));
  const float window_edge = 0.56F + 0.12F * y;
  const bool side_window = std::abs(x) > window_edge && y > -0.38F && y < 0.02F;
  const bool rear_window = std::abs(x) < 0.2F && y > -0.36F && y < -0.16F;
  if (!side_window && !rear_window) return wall;
  const float trees = soft_noise(x * 9, y * 9);
  return mix({0.75F, 0.82F, 0.88F}, {0.4F, 0.5F, 0.35F}, smooth_step(0.4F, 0.7F, trees + y));
}

bool in_seat(float x, float y) {
  const bool headrest = in_ellipse(x, y + 0.16F, 0.12F, 0.11F);
  const bool back = y > -0.07F && std::abs(x) < 0.19F + 0.1F * smooth_step(-0.07F, 0.1F, y);
  return headrest || back;
}

Colour seat(float x, float y) {
  const float seam = std::abs(std::abs(x) - 0.12F) < 0.004F ? 0.6F : 1;
  return kSeat * (seam * (0.8F + 0.4F * soft_noise(x * 90, y * 90)) * (1.25F - std::abs(x) * 2));
}

// Shoulders, shirt and belt; false where none of it is.
bool body(float x, float y, Colour& colour) {
  if (std::abs(x) < 0.055F && y > 0.08F && y < 0.24F) {
    colour = kSkin * 0.75F;  // neck, in the chin's shadow
    if (y < 0.2F) return true;
  }
  const float shoulder = 0.2F + 0.5F * x * x + 1.6F * x * x * std::abs(x);
  if (std::abs(x) > 0.34F || y < shoulder) return false;
  const float fold = soft_noise(x * 14, y * 9);
  colour = kShirt * (0.8F + 0.35F * fold);
  if (std::abs(std::abs(x) - (y - 0.19F) * 0.5F) < 0.014F && y < 0.32F) colour = kShirt * 1.35F;
  if (std::abs(x * 0.9F - (y - 0.38F)) < 0.03F) colour = {0.1F, 0.1F, 0.1F};  // belt
  return true;
}

// One eye around its middle: white, iris, pupil, a light spot, the lid's line.
bool eye(float x, float y, Colour& colour) {
  if (!in_ellipse(x, y, 0.024F, 0.0105F)) return false;
  const float from_middle = std::sqrt(x * x + y * y);
  colour = {0.93F, 0.91F, 0.88F};
  if (from_middle < 0.0095F) colour = {0.3F, 0.2F, 0.1F};
  if (from_middle < 0.0045F) colour = {0.03F, 0.03F, 0.03F};
  if (in_ellipse(x - 0.003F, y + 0.003F, 0.002F, 0.002F)) colour = {1, 1, 1};
  if (y < -0.0065F) colour = kHair;
  return true;
}

void features(float x, float y, Colour& colour) {
  const float side = std::abs(x);
  const float socket = (x * x - 0.0936F * side + 0.00219F) * 900 + (y + 0.02F) * (y + 0.02F) * 900;
  colour = colour * (0.86F + 0.14F * smooth_step(0.0F, 1.0F, socket));
  const float brow = y + 0.052F + 2.5F * (side - 0.045F) * (side - 0.045F);
  if (std::abs(brow) < 0.006F && side > 0.018F && side < 0.075F) colour = kHair;
  eye(side - 0.045F, y + 0.02F, colour);
  if (y > -0.01F && y < 0.045F) {  // nose: one side in shadow
    const float edge = 0.012F + 0.2F * (y + 0.01F);
    if (x > 0 && x < edge) colour = colour * (0.8F + 0.15F * x / edge);
  }
  if (in_ellipse(side - 0.012F, y - 0.046F, 0.007F, 0.004F)) colour = kSkin * 0.45F;
  const float lips = y - 0.082F + 1.5F * x * x;
  if (std::abs(lips) < 0.011F - 4 * x * x && side < 0.042F) colour = {0.68F, 0.36F, 0.33F};
  if (std::abs(lips) < 0.0016F && side < 0.042F) colour = {0.35F, 0.15F, 0.14F};
}

bool head(float x, float y, Colour& colour) {
  const float jaw = y > 0 ? 1 - 0.28F * smooth_step(0, 0.16F, y) : 1;
  const bool face = in_ellipse(x, y, 0.108F * jaw, 0.15F);
  const bool ear = in_ellipse(std::abs(x) - 0.107F, y - 0.005F, 0.015F, 0.032F);
  const float hair_line = -0.085F - 1.6F * x * x + 0.03F * soft_noise(x * 40, 1);
  const bool hair = in_ellipse(x, y + 0.035F, 0.122F, 0.142F) && (y < hair_line || !face) && y < 0;
  if (!face && !ear && !hair) return false;
  if (hair) {
    colour = kHair * (0.8F + 0.9F * soft_noise(x * 160, y * 30));
    return true;
  }
  // Lit from the left window.
  const float light = 1.05F - 0.9F * (x + 0.05F) - 8 * (x + 0.03F) * (x + 0.03F);
  colour = kSkin * std::clamp(light, 0.45F, 1.1F);
  if (face) features(x, y, colour);
  return true;
}

bool wheel(float x, float y, Colour& colour) {
  const float out = std::sqrt(x * x + (y - 0.62F) * (y - 0.62F) * 1.5F);
  const bool rim = out > 0.27F && out < 0.305F;
  const bool spoke = out <= 0.27F && std::abs(x) < 0.035F;
  if (!rim && !spoke) return false;
  colour = Colour{0.07F, 0.07F, 0.08F} * (1 + 4 * smooth_step(0.28F, 0.27F, out));
  return true;
}

Colour cabin_point(float x, float y) {
  Colour colour;
  const float driver = x - kDriverSide;
  if (wheel(driver, y, colour) || head(driver, y + 0.06F, colour) || body(driver, y, colour)) {
    return colour;
  }
  if (in_seat(driver, y)) return seat(driver, y);
  if (in_seat(x - kPassengerSide, y)) return seat(x - kPassengerSide, y);
  return interior(x, y);
}

}  // namespace

Result<RgbImage> draw_cabin_scene(uint32_t width, uint32_t height) {
  MODELD_ASSIGN(RgbImage image, make_image(width, height));
  const auto unit = static_cast<float>(height);
  const float middle = static_cast<float>(width) / 2;
  paint(image, [&](float x, float y) { return cabin_point((x - middle) / unit, y / unit - 0.5F); });
  return image;
}

}  // namespace modeld
