#include "daemon/supervise/executor.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "daemon/supervise/executor_protocol.h"
#include "daemon/supervise/packet_socket.h"
#include "daemon/supervise/shared_memory.h"
#include "runtime/base/exit_codes.h"

namespace modeld::supervise {
namespace {

// The daemon's deadlines end this process; its own waits are only bounded somehow.
constexpr Nanoseconds kForLong = 3600 * kSecond;
constexpr Nanoseconds kLookAround = kSecond;

Nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

// Tells the daemon that loading goes on.
class ProgressWeights final : public WeightSource {
 public:
  ProgressWeights(WeightSource& inner, std::atomic<uint32_t>& progress)
      : inner_(inner), progress_(progress) {}
  uint64_t size() const override { return inner_.size(); }
  Status read(uint64_t offset, std::span<std::byte> out) override {
    ++progress_;
    return inner_.read(offset, out);
  }

 private:
  WeightSource& inner_;
  std::atomic<uint32_t>& progress_;
};

// A camera's buffer, mapped for reading only.
class MappedPages {
 public:
  static Result<std::unique_ptr<MappedPages>> map(const UniqueFd& fd, uint64_t bytes) {
    struct stat info {};
    if (fstat(fd.get(), &info) != 0) return errno_error("a frame buffer", errno);
    if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) < bytes) {
      return Error(ErrorCode::kCorrupt, "frame buffer shorter than its mapping")
          .expecting(std::to_string(bytes) + " bytes", std::to_string(info.st_size));
    }
    void* start = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (start == MAP_FAILED) return errno_error("mapping a frame buffer", errno);
    return std::unique_ptr<MappedPages>(new MappedPages({static_cast<std::byte*>(start), bytes}));
  }
  ~MappedPages() { munmap(pages_.data(), pages_.size()); }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  std::span<std::byte> pages() const { return pages_; }

 private:
  explicit MappedPages(std::span<std::byte> pages) : pages_(pages) {}
  std::span<std::byte> pages_;
};

// One capture with its block.
class ServedCapture {
 public:
  static Result<std::unique_ptr<ServedCapture>> record(ExecutorWork& work,
                                                       const RecordRequest& request, UniqueFd fd,
                                                       std::atomic<uint32_t>& progress) {
    auto served = std::unique_ptr<ServedCapture>(new ServedCapture);
    served->mirror_states_ = request.mirror_states;
    MODELD_ASSIGN(served->memory_, SharedMemory::map(std::move(fd), request.block_bytes));
    CaptureOptions options;
    options.threads = request.threads;
    for (uint32_t i = 0; i < std::min<size_t>(request.frames, kMaxFrames); ++i) {
      const auto& frame = request.frame[i];
      options.frames.push_back({get_text(frame.input), frame.layout, frame.mode});
    }
    MODELD_TRY(served->plan(work.model.program, options));
    MODELD_TRY(served->choose_places(*work.device, options, work.model.program));
    ProgressWeights weights(*work.model.weights, progress);
    MODELD_ASSIGN(served->capture_, work.device->record(work.model.program, weights, options));
    for (auto& [input, buffer] : served->own_buffers_) {
      MODELD_TRY(served->capture_->bind(input, *buffer));
    }
    return served;
  }

  Status replay(uint32_t set, ReplayReport& report) {
    if (set > 1) return Error(ErrorCode::kInvalidArgument, "output set");
    for (const size_t input : copied_) {
      const auto from = bytes(layout_.inputs[input]);
      std::memcpy(capture_->staging(input).data(), from.data(), from.size());
    }
    MODELD_ASSIGN(Submission* const submission, capture_->replay());
    MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kForLong)));
    for (size_t i = 0; i < layout_.outputs[set].size(); ++i) {
      const auto from = capture_->output(i);
      std::memcpy(bytes(layout_.outputs[set][i]).data(), from.data(), from.size());
    }
    report = submission->report();
    return {};
  }

  // After the answer: whoever waits for it need not wait for this.
  void mirror() {
    if (!mirror_states_) return;
    const uint32_t set = transfer_set();
    for (size_t i = 0; i < layout_.states[set].size(); ++i) {
      if (!capture_->read_state(i, bytes(layout_.states[set][i])).ok()) return;
    }
    header().mirror.store(set + 1, std::memory_order_release);
  }

  Status read_state(uint32_t state) {
    MODELD_ASSIGN(const auto range, state_range(state));
    return capture_->read_state(state, bytes(range));
  }
  Status write_state(uint32_t state) {
    MODELD_ASSIGN(const auto range, state_range(state));
    return capture_->write_state(state, bytes(range));
  }
  Capture& capture() { return *capture_; }

 private:
  ServedCapture() = default;

  BlockHeader& header() { return *reinterpret_cast<BlockHeader*>(memory_.bytes().data()); }
  std::span<std::byte> bytes(const BlockLayout::Range& range) {
    return memory_.bytes().subspan(range.offset, range.bytes);
  }
  uint32_t transfer_set() { return header().mirror.load() == 1 ? 1 : 0; }
  Result<BlockLayout::Range> state_range(uint32_t state) {
    const auto& states = layout_.states[transfer_set()];
    if (state >= states.size()) return Error(ErrorCode::kInvalidArgument, "state");
    return states[state];
  }

  Status plan(const Program& program, const CaptureOptions& options) {
    MODELD_ASSIGN(const auto frames, match_frames(program, options));
    std::vector<uint64_t> inputs;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const bool bound = frames[i] && frames[i]->mode == InputMode::kBind;
      const uint64_t whole =
          frames[i] ? frames[i]->layout.length : program.tensors[program.inputs[i]].type.bytes();
      inputs.push_back(bound ? 0 : whole);
    }
    std::vector<uint64_t> outputs;
    for (const TensorId id : program.outputs) outputs.push_back(program.tensors[id].type.bytes());
    std::vector<uint64_t> states;
    for (const auto& state : program.states) {
      states.push_back(program.tensors[state.current].type.bytes());
    }
    layout_ = BlockLayout::plan(inputs, outputs, states);
    if (layout_.bytes == memory_.bytes().size()) return {};
    return Error(ErrorCode::kRefused, "shared block of a capture")
        .expecting(std::to_string(layout_.bytes) + " bytes",
                   std::to_string(memory_.bytes().size()));
  }

  // Uploaded pictures are read where the daemon puts them, if the device can read host pages.
  Status choose_places(Device& device, CaptureOptions& options, const Program& program) {
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const std::string& name = program.tensors[program.inputs[i]].name;
      const auto frame = std::find_if(options.frames.begin(), options.frames.end(),
                                      [&](const FrameBinding& one) { return one.input == name; });
      if (frame != options.frames.end() && frame->mode == InputMode::kBind) continue;
      if (frame != options.frames.end()) {
        auto wrapped = device.import_host(bytes(layout_.inputs[i]));
        if (wrapped.ok()) {
          frame->mode = InputMode::kBind;
          own_buffers_.emplace_back(i, std::move(wrapped).value());
          continue;
        }
      }
      copied_.push_back(i);
    }
    return {};
  }

  bool mirror_states_ = false;
  SharedMemory memory_;
  BlockLayout layout_;
  std::vector<std::pair<size_t, std::unique_ptr<Buffer>>> own_buffers_;
  std::vector<size_t> copied_;
  std::unique_ptr<Capture> capture_;  // goes before what it reads
};

class Executor {
 public:
  Executor(ExecutorStart start, SharedMemory control, const ExecutorOptions& options)
      : kind_(start.kind),
        socket_(std::move(start.socket)),
        control_(std::move(control)),
        options_(options) {}

  int run() {
    uint32_t seen = 0;
    while (true) {
      sleep_while(page().asked, seen, Deadline::after(Clock::real(), kLookAround));
      const uint32_t asked = page().asked.load(std::memory_order_acquire);
      if (asked == seen) {
        if (daemon_gone()) return kExitOk;
        continue;
      }
      seen = asked;
      const Command command = page().command;
      const uint32_t capture = page().capture;
      answer(carry_out(command), asked);
      if (command == Command::kCommit || command == Command::kWriteState ||
          command == Command::kResetState) {
        if (ServedCapture* const served = find(capture)) served->mirror();
      }
    }
  }

 private:
  ControlPage& page() { return *reinterpret_cast<ControlPage*>(control_.bytes().data()); }

  bool daemon_gone() const {
    pollfd item{socket_.get(), 0, 0};
    return poll(&item, 1, 0) > 0 && (item.revents & (POLLHUP | POLLERR)) != 0;
  }

  void answer(const Status& status, uint32_t number) {
    page().failed = status.ok() ? 0 : 1;
    if (!status.ok()) {
      page().error = status.error().code;
      put_text(page().message, to_string(status.error()));
    }
    page().cpu_time.store(processor_time(), std::memory_order_relaxed);
    page().answered.store(number, std::memory_order_release);
    wake(page().answered);
  }

  ServedCapture* find(uint32_t number) {
    const auto found = captures_.find(number);
    return found == captures_.end() ? nullptr : found->second.get();
  }

  Status carry_out(Command command) {
    if (command == Command::kOpen) return open();
    if (!work_) return Error(ErrorCode::kInvalidArgument, "nothing has been opened");
    if (command == Command::kRecord) return record();
    if (command == Command::kImport) return import();
    if (command == Command::kSeal) {
      return options_.sandbox.when_warm ? options_.sandbox.when_warm(kind_) : Status();
    }
    if (command == Command::kRelease) {
      buffers_.erase(page().buffer);
      return {};
    }
    ServedCapture* const served = find(page().capture);
    if (served == nullptr) return Error(ErrorCode::kInvalidArgument, "no such capture");
    switch (command) {
      case Command::kReplay:
        return served->replay(page().argument, page().report);
      case Command::kCommit:
        return served->capture().commit();
      case Command::kResetState:
        return served->capture().reset_state();
      case Command::kReadState:
        return served->read_state(page().argument);
      case Command::kWriteState:
        return served->write_state(page().argument);
      case Command::kBind:
        return bind(*served);
      case Command::kDrop:
        captures_.erase(page().capture);
        return {};
      default:
        return Error(ErrorCode::kInternal, "unknown command");
    }
  }

  Status open() {
    if (options_.sandbox.before_artifact) MODELD_TRY(options_.sandbox.before_artifact(kind_));
    MODELD_ASSIGN(auto work, options_.open(kind_));
    work_ = std::make_unique<ExecutorWork>(std::move(work));
    page().capabilities = flatten(work_->device->capabilities());
    put_text(page().digest, work_->digest);
    return {};
  }

  Status record() {
    MODELD_ASSIGN(Packet packet, receive_packet(socket_.get()));
    MODELD_ASSIGN(const auto request, packet.as<RecordRequest>());
    if (packet.fds.size() != 1) return Error(ErrorCode::kCorrupt, "no block for the capture");
    MODELD_ASSIGN(
        captures_[page().capture],
        ServedCapture::record(*work_, request, std::move(packet.fds[0]), page().progress));
    return {};
  }

  Status import() {
    MODELD_ASSIGN(Packet packet, receive_packet(socket_.get()));
    MODELD_ASSIGN(const auto request, packet.as<ImportRequest>());
    if (packet.fds.size() != 1) return Error(ErrorCode::kCorrupt, "no descriptor to import");
    MODELD_ASSIGN(auto pages, MappedPages::map(packet.fds[0], request.bytes));
    MODELD_ASSIGN(auto buffer, work_->device->import_host(pages->pages()));
    buffers_[page().buffer] = {std::move(pages), std::move(buffer)};
    return {};
  }

  Status bind(ServedCapture& served) {
    const auto found = buffers_.find(page().buffer);
    if (found == buffers_.end()) return Error(ErrorCode::kInvalidArgument, "no such buffer");
    return served.capture().bind(page().argument, *found->second.buffer);
  }

  struct Imported {
    std::unique_ptr<MappedPages> pages;  // must outlive `buffer`
    std::unique_ptr<Buffer> buffer;
  };

  const ExecutorKind kind_;
  UniqueFd socket_;
  SharedMemory control_;
  const ExecutorOptions& options_;
  std::unique_ptr<ExecutorWork> work_;
  std::map<uint32_t, Imported> buffers_;
  std::map<uint32_t, std::unique_ptr<ServedCapture>> captures_;
};

}  // namespace

int run_executor(ExecutorStart start, const ExecutorOptions& options) {
  auto control = SharedMemory::map(std::move(start.control), kControlBytes);
  if (!control.ok()) return kExitDevice;
  // Never torn down: the end of the process frees everything, also what a driver would hang in.
  auto* const executor = new Executor(std::move(start), std::move(control).value(), options);
  return executor->run();
}

}  // namespace modeld::supervise
