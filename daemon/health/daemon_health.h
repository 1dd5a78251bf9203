// Everything a daemon knows about itself, in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/health/cpu_share.h"
#include "daemon/health/flight_recorder.h"
#include "daemon/health/frame_counters.h"
#include "daemon/health/frame_phases.h"
#include "daemon/health/health_state.h"
#include "daemon/health/readiness.h"
#include "daemon/health/sandbox_facts.h"
#include "daemon/health/sensor_reader.h"
#include "ipc/frames/frame_source.h"
#include "runtime/base/clock.h"

namespace modeld {

struct DeviceFacts {
  std::string backend;
  std::string name;
  std::string driver;
  std::string driver_version;
  std::string precision;
  uint32_t threads = 0;
  bool copy_queue = false;
  bool on_host = false;  // computes on host threads: what is queued there waits for a processor
};

struct ArtifactFacts {
  std::string name;
  std::string digest;  // SHA-256, lower-case hex
  std::string signer;  // empty if unsigned
  std::string path;
  bool is_signed = false;
};

struct SelfTestFacts {
  Check result = Check::kUnknown;
  std::string text;
  double worst_error = 0;  // over its tolerance; above 1 is a failure
  double duration_ms = 0;
  Nanoseconds finished = 0;  // CLOCK_BOOTTIME
};

// One message input, as of the moment of publishing.
struct InputFacts {
  std::string_view topic;
  bool seen = false;
  bool alive = false;
  bool valid = false;
  double rate_hz = 0;
  Check rate = Check::kUnknown;
  uint64_t rejected = 0;
};

// One camera stream; `state` outlives the publisher's use of it.
struct SensorFacts {
  std::string name;
  std::string unit;
  SensorReading reading;
};

struct StreamFacts {
  std::string name;
  const ipc::StreamState* state = nullptr;
  uint64_t torn = 0;
};

// Values of the wire.
enum class PixelPath : uint8_t { kUnknown, kHostUpload, kZeroCopyHostPointer, kZeroCopyDmaBuf };

// Owned and changed by the thread that runs the frames. Lists keep their memory from frame to
// frame.
struct DaemonHealth {
  DaemonHealth(std::string process_name, std::string process_version, const HealthLimits& limits,
               const Clock& clock)
      : process(std::move(process_name)),
        version(std::move(process_version)),
        started(clock.boottime()),
        state(limits, clock.monotonic()),
        phases(limits.frame_budget) {}

  std::string process;
  std::string version;
  Nanoseconds started;        // CLOCK_BOOTTIME
  std::string start_up_step;  // empty once running

  HealthStateMachine state;
  FrameCounters frames;
  PhaseStatistics phases;
  FlightRecorder flight;
  Readiness readiness;

  DeviceFacts device;
  ArtifactFacts artifact;
  bool isolated = false;      // device work runs in executors
  uint8_t fallback = 0;       // FallbackState, as on the wire
  std::string fallback_text;  // why the fallback answers; empty while it does not
  std::string fallback_artifact;
  double fallback_warm_hz = 0;
  CpuShare fallback_cpu;
  uint32_t executor_restarts = 0;
  SelfTestFacts self_test;
  SandboxFacts sandbox;
  PixelPath pixel_path = PixelPath::kUnknown;
  std::string pixel_path_text;
  std::vector<InputFacts> inputs;
  std::vector<StreamFacts> streams;
  std::vector<SensorFacts> sensors;

  // A frame's end, counted everywhere it belongs.
  void answered(const FrameTimes& times, InvalidReason reason, Nanoseconds now,
                HealthReason concern = HealthReason::kNone);
  void dropped(DropReason reason, Nanoseconds now);
  // The fallback answers from now on, because of `why`; holds until the process ends.
  void took_over(std::string_view why, Nanoseconds now);
};

}  // namespace modeld
