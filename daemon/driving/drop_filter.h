// How many camera frames the road model missed, smoothed. Source: facts 5.6.
#pragma once

#include <cstdint>

namespace modeld::driving {

class DropFilter {
 public:
  // Once per processed frame, with the main camera's frame id.
  void update(uint32_t frame_id);

  int64_t dropped() const { return dropped_; }   // frames missed just before this one
  double filtered() const { return filtered_; }  // low-passed, per frame
  double ratio() const;                          // 0 .. 1: frameDropPerc is 100 times this

 private:
  uint32_t last_frame_id_ = 0;
  uint32_t runs_ = 0;
  int64_t dropped_ = 0;
  double filtered_ = 0.0;
};

}  // namespace modeld::driving
