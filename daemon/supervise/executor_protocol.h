// What a daemon and one of its executors share. Both ends come from the same build (an executor is
// a fork of the daemon's process), so structs travel as they lie in memory. An executor may still
// die or be wrong at any moment: the daemon trusts no length, index or text it finds here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/capabilities.h"
#include "runtime/device/capture.h"

namespace modeld::supervise {

enum class Command : uint32_t {
  kOpen,    // artifact and device; answers capabilities and digest
  kRecord,  // a packet with RecordRequest and the block's descriptor precedes it
  kReplay,  // argument: output set to fill
  kCommit,  // then copies the states into the block, if it was asked to mirror them
  kResetState,
  kReadState,   // argument: state; into the transfer area of the block
  kWriteState,  // argument: state; from there
  kImport,      // argument: a new buffer's number; a packet with ImportRequest and fd precedes it
  kBind,        // argument: input, buffer
  kRelease,     // argument: buffer
  kDrop,        // the capture
  kSeal,        // every kernel has run: the second stage of the sandbox
};

constexpr size_t kMaxFrames = 8;
constexpr size_t kMaxTensorName = 120;

struct RecordRequest {
  struct Frame {
    std::array<char, kMaxTensorName> input;
    Nv12Layout layout;
    InputMode mode;
  };
  uint32_t frames = 0;
  uint32_t threads = 0;
  uint64_t block_bytes = 0;
  bool mirror_states = false;
  std::array<Frame, kMaxFrames> frame{};
};
static_assert(sizeof(RecordRequest) <= 4096);

struct ImportRequest {
  uint64_t bytes = 0;
};

// DeviceCapabilities without heap memory; texts are cut to what fits.
struct FlatCapabilities {
  static constexpr size_t kText = 96;
  static constexpr size_t kList = 4;
  struct Memory {
    std::array<char, 32> name{};
    std::array<Probed, 4> probed{};
  };
  std::array<std::array<char, kText>, 4> texts{};
  DeviceClass device_class = DeviceClass::kCpu;
  uint32_t address_bits = 0;
  uint64_t max_allocation_bytes = 0;
  uint64_t base_alignment_bytes = 0;
  std::array<uint64_t, kList> page_bytes{};
  uint32_t memories = 0;
  std::array<Memory, kList> memory{};
  std::array<Probed, 10> probed{};
};
FlatCapabilities flatten(const DeviceCapabilities& capabilities);
DeviceCapabilities unflatten(const FlatCapabilities& flat);

// One per executor. `asked` and `answered` are futexes: the executor sleeps on the first, the
// daemon on the second; the rest belongs to whoever has the turn.
struct ControlPage {
  std::atomic<uint32_t> asked{0};     // number of the last command given
  std::atomic<uint32_t> answered{0};  // number of the last command carried out
  std::atomic<uint32_t> progress{0};  // moves while the executor loads
  std::atomic<int64_t> cpu_time{0};   // processor time of the executor, ns, as of its last answer

  Command command = Command::kOpen;
  uint32_t argument = 0;
  uint32_t buffer = 0;
  uint32_t capture = 0;

  uint32_t failed = 0;
  ErrorCode error = ErrorCode::kInternal;
  std::array<char, 600> message{};
  ReplayReport report;
  FlatCapabilities capabilities;
  std::array<char, 72> digest{};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);
constexpr uint64_t kControlBytes = 8192;
static_assert(sizeof(ControlPage) <= kControlBytes);

// Sleeps while `word` is `value`, until `deadline` (CLOCK_MONOTONIC) at most; may return early.
void sleep_while(const std::atomic<uint32_t>& word, uint32_t value, Deadline deadline);
void wake(std::atomic<uint32_t>& word);

// Where everything of one capture lies in its shared block, from the sizes both ends know. Inputs
// start on pages, so that an executor's device may read them where they are.
struct BlockLayout {
  struct Range {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  uint64_t bytes = 0;
  std::vector<Range> inputs;  // 0 bytes: bound, not staged
  std::array<std::vector<Range>, 2> outputs;
  std::array<std::vector<Range>, 2> states;  // mirrored copies, written in turn

  static BlockLayout plan(std::span<const uint64_t> inputs, std::span<const uint64_t> outputs,
                          std::span<const uint64_t> states);
};
// At the start of a block.
struct BlockHeader {
  // Which set of mirrored states is complete: 0 none, 1 the first, 2 the second. The other one is
  // the transfer area of kReadState and kWriteState.
  std::atomic<uint32_t> mirror{0};
};

// Fixed text fields.
void put_text(std::span<char> field, std::string_view text);
std::string get_text(std::span<const char> field);

}  // namespace modeld::supervise
