#include "daemon/health/flight_recorder.h"

#include <algorithm>
#include <cstdio>

namespace modeld {
namespace {

enum Track : int { kFramesTrack = 1, kPhasesTrack = 2, kWaitsTrack = 3 };

double microseconds(Nanoseconds time) {
  return static_cast<double>(time) / 1000.0;
}

void append_name(std::string& text, const char* what, int track, std::string_view name) {
  char line[200];
  std::snprintf(line, sizeof line,
                R"({"name":"%s","ph":"M","pid":1,"tid":%d,"args":{"name":"%.*s"}},)"
                "\n",
                what, track, static_cast<int>(std::min<size_t>(name.size(), 60)), name.data());
  text += line;
}

// A stretch of time on a track.
void append_span(std::string& text, std::string_view name, Track track, Nanoseconds begin,
                 Nanoseconds duration, const FlightRecord& record) {
  char line[300];
  std::snprintf(line, sizeof line,
                R"({"name":"%.*s","cat":"frame","ph":"X","pid":1,"tid":%d,"ts":%.3f,"dur":%.3f,)"
                R"("args":{"frame":%u,"answer":"%s","missed":%s}},)"
                "\n",
                static_cast<int>(name.size()), name.data(), static_cast<int>(track),
                microseconds(begin), microseconds(duration), record.frame_id,
                record.reason == InvalidReason::kNone ? "valid" : to_string(record.reason).data(),
                record.missed ? "true" : "false");
  text += line;
}

void append_frame(std::string& text, const FlightRecord& record) {
  const Nanoseconds total = record.times[FramePhase::kTotal];
  const Nanoseconds taken = record.done - total;
  append_span(text, "frame " + std::to_string(record.frame_id), kFramesTrack, taken, total, record);
  const Nanoseconds age = record.times[FramePhase::kCameraToReceive];
  if (age != 0) {
    append_span(text, to_string(FramePhase::kCameraToReceive), kPhasesTrack, taken - age, age,
                record);
  }
  Nanoseconds at = taken;
  for (size_t i = static_cast<size_t>(FramePhase::kPairing);
       i < static_cast<size_t>(FramePhase::kTotal); ++i) {
    const auto phase = static_cast<FramePhase>(i);
    const Nanoseconds duration = record.times[phase];
    if (duration == 0) continue;
    // The last one ends when the frame does, whatever was not measured before it.
    if (phase == FramePhase::kPublish) at = record.done - duration;
    append_span(text, to_string(phase), kPhasesTrack, at, duration, record);
    at += duration;
  }
  const Nanoseconds wait = record.times[FramePhase::kCpuWait];
  if (wait != 0) {
    append_span(text, to_string(FramePhase::kCpuWait), kWaitsTrack, taken, wait, record);
  }
}

}  // namespace

void FlightRecorder::note(const FlightRecord& record) {
  records_[count_ % kFrames] = record;
  ++count_;
  if (record.missed) ++misses_;
}

const FlightRecord& FlightRecorder::at(size_t index) const {
  const uint64_t first = count_ - size();
  return records_[(first + index) % kFrames];
}

std::string to_trace_json(const FlightRecorder& recorder, std::string_view process) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  append_name(text, "process_name", 0, process);
  append_name(text, "thread_name", kFramesTrack, "frames");
  append_name(text, "thread_name", kPhasesTrack, "phases");
  append_name(text, "thread_name", kWaitsTrack, "waiting for a processor");
  for (size_t i = 0; i < recorder.size(); ++i) append_frame(text, recorder.at(i));
  text.erase(text.find_last_of(','), 1);
  return text + "]}\n";
}

}  // namespace modeld
