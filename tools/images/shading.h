// What the drawn scenes share: colours, soft noise, and a loop over a picture's points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tools/images/rgb_image.h"

namespace modeld {

struct Colour {
  float red = 0;  // 0..1
  float green = 0;
  float blue = 0;
};

inline Colour operator*(Colour c, float by) {
  return {c.red * by, c.green * by, c.blue * by};
}
inline Colour operator+(Colour a, Colour b) {
  return {a.red + b.red, a.green + b.green, a.blue + b.blue};
}
// `a` at 0, `b` at 1; `share` is clamped.
inline Colour mix(Colour a, Colour b, float share) {
  const float part = std::clamp(share, 0.0F, 1.0F);
  return a * (1 - part) + b * part;
}

// 0 below `from`, 1 above `to`, smooth between.
inline float smooth_step(float from, float to, float x) {
  const float part = std::clamp((x - from) / (to - from), 0.0F, 1.0F);
  return part * part * (3 - 2 * part);
}

// Smooth in x and y with features of size 1, 0..1.
float soft_noise(float x, float y);

// True inside an axis-parallel ellipse.
inline bool in_ellipse(float x, float y, float radius_x, float radius_y) {
  return x * x / (radius_x * radius_x) + y * y / (radius_y * radius_y) < 1;
}

// Sets every pixel to the mean of shade(x, y) at four points inside it, in pixels from the top
// left.
template <typename Shade>
void paint(RgbImage& image, const Shade& shade) {
  const auto byte = [](float value) {
    return static_cast<uint8_t>(std::clamp(value * 63.75F + 0.5F, 0.0F, 255.0F));
  };
  for (uint32_t y = 0; y < image.height; ++y) {
    for (uint32_t x = 0; x < image.width; ++x) {
      Colour sum;
      for (const float down : {0.25F, 0.75F}) {
        for (const float right : {0.25F, 0.75F}) {
          sum = sum + shade(static_cast<float>(x) + right, static_cast<float>(y) + down);
        }
      }
      uint8_t* pixel = image.at(x, y);
      pixel[0] = byte(sum.red);
      pixel[1] = byte(sum.green);
      pixel[2] = byte(sum.blue);
    }
  }
}

}  // namespace modeld
