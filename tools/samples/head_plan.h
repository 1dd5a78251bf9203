// What the numbers of an output head should look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace modeld::samples {

// One output: `centre` plus a part that depends on the pictures, with about `deviation`.
struct HeadPoint {
  float centre = 0;
  float deviation = 0;
  float along = 0;  // 0..1: where on its curve
};

// Outputs of one curve move together: its ends move independently, a point between mixes them.
struct HeadElement {
  HeadPoint point;
  uint32_t curve = 0;
};

// A named head. A plain value, built by adding outputs until none is left out.
class HeadPlan {
 public:
  HeadPlan(std::string name, size_t width) : name_(std::move(name)), elements_(width) {}

  const std::string& name() const { return name_; }
  std::span<const HeadElement> elements() const { return elements_; }
  uint32_t curves() const { return curves_; }

  // Output `index` by itself.
  void set(size_t index, double centre, double deviation);
  // Outputs first, first + step, ... as one curve.
  void set_curve(size_t first, size_t step, std::span<const HeadPoint> points);
  // All outputs from `first` on by themselves, alike.
  void fill(size_t first, size_t count, double centre, double deviation);

 private:
  std::string name_;
  std::vector<HeadElement> elements_;
  uint32_t curves_ = 0;
};

}  // namespace modeld::samples
