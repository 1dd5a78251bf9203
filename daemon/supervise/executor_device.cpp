#include "daemon/supervise/executor_device.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/supervise/executor_link.h"
#include "daemon/supervise/packet_socket.h"

namespace modeld::supervise {
namespace {

using Link = ExecutorDevice::Link;

// A buffer the executor has mapped. Its bytes are the camera's: nobody reads them through here.
class RemoteBuffer final : public Buffer {
 public:
  RemoteBuffer(std::shared_ptr<Link> link, uint32_t number, std::span<const std::byte> pages)
      : link_(std::move(link)), number_(number), pages_(pages) {}
  ~RemoteBuffer() override { static_cast<void>(link_->ask(Command::kRelease, {0, 0, number_})); }

  const Link* link() const { return link_.get(); }
  uint32_t number() const { return number_; }

  uint64_t size() const override { return pages_.size(); }
  uint64_t alignment() const override { return 4096; }
  BufferOwnership ownership() const override { return BufferOwnership::kImported; }
  bool needs_flush() const override { return false; }
  Status write(uint64_t, std::span<const std::byte>) override {
    return Error(ErrorCode::kPermission, "a camera's buffer");
  }
  Status read(uint64_t offset, std::span<std::byte> bytes) override {
    if (offset > pages_.size() || bytes.size() > pages_.size() - offset) {
      return Error(ErrorCode::kInvalidArgument, "outside the buffer");
    }
    std::memcpy(bytes.data(), pages_.data() + offset, bytes.size());
    return {};
  }
  Status flush() override { return {}; }
  Status invalidate() override { return {}; }

 private:
  const std::shared_ptr<Link> link_;
  const uint32_t number_;
  const std::span<const std::byte> pages_;
};

Error in_flight() {
  return Error(ErrorCode::kInvalidArgument, "a replay is in flight")
      .expecting("a completed replay", "one still running");
}

class RemoteCapture final : public Capture {
 public:
  RemoteCapture(std::shared_ptr<Link> link, uint32_t number)
      : link_(std::move(link)), number_(number), submission_(*this) {}
  ~RemoteCapture() override { link_->drop(number_); }

  Status record(const Program& program, const CaptureOptions& options, bool mirror_states) {
    MODELD_ASSIGN(const auto frames, match_frames(program, options));
    if (options.frames.size() > kMaxFrames) {
      return Error(ErrorCode::kUnsupported, "more frame inputs than an executor takes")
          .expecting(std::to_string(kMaxFrames), std::to_string(options.frames.size()));
    }
    describe(program, frames);
    MODELD_ASSIGN(memory_, SharedMemory::create("capture", layout_.bytes));
    new (memory_.bytes().data()) BlockHeader;
    RecordRequest request;
    request.frames = static_cast<uint32_t>(options.frames.size());
    request.threads = options.threads;
    request.block_bytes = layout_.bytes;
    request.mirror_states = mirror_states;
    for (size_t i = 0; i < options.frames.size(); ++i) {
      put_text(request.frame[i].input, options.frames[i].input);
      request.frame[i].layout = options.frames[i].layout;
      request.frame[i].mode = options.frames[i].mode;
    }
    return link_->record({number_, 0, 0}, packet_bytes(request), memory_.fd());
  }

  std::span<const Slot> inputs() const override { return inputs_; }
  std::span<const Slot> outputs() const override { return outputs_; }
  std::span<const Slot> states() const override { return states_; }

  std::span<std::byte> staging(size_t input) override {
    return input < inputs_.size() ? bytes(layout_.inputs[input]) : std::span<std::byte>();
  }

  Status bind(size_t input, Buffer& buffer) override {
    if (in_flight_) return in_flight_error();
    auto* const remote = dynamic_cast<RemoteBuffer*>(&buffer);
    if (remote == nullptr || remote->link() != link_.get()) {
      return Error(ErrorCode::kInvalidArgument, "bound buffer")
          .expecting("a buffer of this device", "another device's");
    }
    return link_->ask(Command::kBind, {number_, static_cast<uint32_t>(input), remote->number()});
  }

  Result<Submission*> replay() override {
    if (in_flight_) return in_flight_error();
    const uint32_t set = completed_set_ ^ 1u;
    MODELD_TRY(link_->give(Command::kReplay, {number_, set, 0}));
    in_flight_ = true;
    committable_ = false;
    return &submission_;
  }

  std::span<const std::byte> output(size_t output) const override {
    const auto& set = layout_.outputs[completed_set_];
    return output < set.size() ? bytes(set[output]) : std::span<std::byte>();
  }

  Status commit() override {
    if (in_flight_) return in_flight_error();
    if (!committable_) return {};
    committable_ = false;
    // Not on the way of the frame: an executor that fails here fails the next frame.
    return link_->post(Command::kCommit, {number_, 0, 0});
  }

  Status reset_state() override {
    if (in_flight_) return in_flight_error();
    committable_ = false;
    return link_->ask(Command::kResetState, {number_, 0, 0});
  }

  Status read_state(size_t state, std::span<std::byte> out) const override {
    MODELD_TRY(check_state(state, out.size()));
    if (link_->lost()) return read_mirror(state, out);
    if (in_flight_) return in_flight_error();
    MODELD_TRY(link_->ask(Command::kReadState, {number_, static_cast<uint32_t>(state), 0}));
    copy(bytes(layout_.states[transfer_set()][state]), out);
    return {};
  }

  Status write_state(size_t state, std::span<const std::byte> in) override {
    MODELD_TRY(check_state(state, in.size()));
    if (in_flight_) return in_flight_error();
    // The executor may still be copying what it committed: only an answered command says it is
    // done.
    MODELD_TRY(link_->ask(Command::kReadState, {number_, static_cast<uint32_t>(state), 0}));
    copy(in, bytes(layout_.states[transfer_set()][state]));
    committable_ = false;
    return link_->ask(Command::kWriteState, {number_, static_cast<uint32_t>(state), 0});
  }

 private:
  class RemoteSubmission final : public Submission {
   public:
    explicit RemoteSubmission(RemoteCapture& capture) : capture_(capture) {}
    Status wait(Deadline deadline) override { return capture_.wait(deadline); }
    const ReplayReport& report() const override { return capture_.report_; }

   private:
    RemoteCapture& capture_;
  };

  Status wait(Deadline deadline) {
    if (!in_flight_) return failure_ ? Status(*failure_) : Status();
    Status waited = link_->wait(deadline);
    if (!waited.ok() && waited.error().code == ErrorCode::kDeadline && link_->busy()) return waited;
    in_flight_ = false;
    failure_.reset();
    if (!waited.ok()) {
      failure_ = waited.error();
      return waited;
    }
    report_ = link_->page().report;
    completed_set_ ^= 1u;
    committable_ = true;
    return {};
  }

  void describe(const Program& program, const std::vector<std::optional<FrameBinding>>& frames) {
    const auto slot = [&](TensorId id) {
      const Tensor& tensor = program.tensors[id];
      return Slot{tensor.name, tensor.type, tensor.type.bytes()};
    };
    std::vector<uint64_t> staged;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      inputs_.push_back(slot(program.inputs[i]));
      if (frames[i]) inputs_[i].bytes = frames[i]->layout.length;
      const bool bound = frames[i] && frames[i]->mode == InputMode::kBind;
      staged.push_back(bound ? 0 : inputs_[i].bytes);
    }
    for (const TensorId id : program.outputs) outputs_.push_back(slot(id));
    for (const auto& state : program.states) states_.push_back(slot(state.current));
    const auto sizes = [](const std::vector<Slot>& slots) {
      std::vector<uint64_t> all;
      for (const Slot& one : slots) all.push_back(one.bytes);
      return all;
    };
    layout_ = BlockLayout::plan(staged, sizes(outputs_), sizes(states_));
  }

  std::span<std::byte> bytes(const BlockLayout::Range& range) const {
    return memory_.bytes().subspan(range.offset, range.bytes);
  }
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    std::memcpy(to.data(), from.data(), to.size());
  }
  uint32_t mirror() const {
    return reinterpret_cast<const BlockHeader*>(memory_.bytes().data())
        ->mirror.load(std::memory_order_acquire);
  }
  uint32_t transfer_set() const { return mirror() == 1 ? 1 : 0; }

  Status read_mirror(size_t state, std::span<std::byte> out) const {
    const uint32_t complete = mirror();
    if (complete != 1 && complete != 2) {
      return Error(ErrorCode::kDeviceLost, "the executor is gone and its states with it");
    }
    copy(bytes(layout_.states[complete - 1][state]), out);
    return {};
  }

  Status check_state(size_t state, size_t size) const {
    if (state < states_.size() && size == states_[state].bytes) return {};
    return Error(ErrorCode::kInvalidArgument, "state")
        .expecting(
            state < states_.size() ? std::to_string(states_[state].bytes) + " bytes"
                                   : "an index below " + std::to_string(states_.size()),
            state < states_.size() ? std::to_string(size) + " bytes" : std::to_string(state));
  }
  static Error in_flight_error() { return in_flight(); }

  const std::shared_ptr<Link> link_;
  const uint32_t number_;
  RemoteSubmission submission_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<Slot> states_;
  BlockLayout layout_;
  SharedMemory memory_;
  ReplayReport report_;
  std::optional<Error> failure_;
  uint32_t completed_set_ = 0;
  bool in_flight_ = false;
  bool committable_ = false;
};

}  // namespace

Result<std::unique_ptr<ExecutorDevice>> ExecutorDevice::open(Spawner& spawner,
                                                             const Options& options) {
  MODELD_ASSIGN(auto link,
                Link::spawn(spawner, options.kind, options.deadlines, options.on_progress));
  if (Status opened = link->open(); !opened.ok()) {
    return Error(opened.error()).in(std::string(to_string(options.kind)) + " executor");
  }
  const std::string digest = get_text(link->page().digest);
  if (digest != options.digest) {
    return Error(ErrorCode::kRefused, "the executor opened another artifact")
        .expecting(options.digest, digest);
  }
  DeviceCapabilities capabilities = unflatten(link->page().capabilities);
  return std::unique_ptr<ExecutorDevice>(
      new ExecutorDevice(std::move(link), std::move(capabilities), options));
}

ExecutorDevice::ExecutorDevice(std::shared_ptr<Link> link, DeviceCapabilities capabilities,
                               Options options)
    : link_(std::move(link)),
      capabilities_(std::move(capabilities)),
      options_(std::move(options)) {}

// The last owner of the link, captures and buffers included, ends the executor.
ExecutorDevice::~ExecutorDevice() = default;

Result<std::unique_ptr<Buffer>> ExecutorDevice::allocate(uint64_t, uint64_t) {
  return Error(ErrorCode::kUnsupported, "memory of an executor's device");
}

Result<std::unique_ptr<Buffer>> ExecutorDevice::import_host(std::span<std::byte>) {
  return Error(ErrorCode::kUnsupported, "pages of another process");
}

Result<std::unique_ptr<Buffer>> ExecutorDevice::import_shared(int fd, std::span<std::byte> pages) {
  if (fd < 0) return import_host(pages);
  const uint32_t number = link_->new_number();
  MODELD_TRY(
      link_->ask(Command::kImport, {0, 0, number}, packet_bytes(ImportRequest{pages.size()}), fd));
  return std::unique_ptr<Buffer>(std::make_unique<RemoteBuffer>(link_, number, pages));
}

Result<std::unique_ptr<Capture>> ExecutorDevice::record(const Program& program, WeightSource&,
                                                        const CaptureOptions& options) {
  auto capture = std::make_unique<RemoteCapture>(link_, link_->new_number());
  MODELD_TRY(capture->record(program, options, options_.mirror_states));
  return std::unique_ptr<Capture>(std::move(capture));
}

bool ExecutorDevice::abandon() {
  link_->give_up("it did not finish a frame");
  return true;
}

Status ExecutorDevice::seal() {
  return link_->ask(Command::kSeal, {});
}

std::function<Nanoseconds()> ExecutorDevice::processor_time() const {
  return [weak = std::weak_ptr<const Link>(link_)]() -> Nanoseconds {
    const auto link = weak.lock();
    return link ? link->page().cpu_time.load(std::memory_order_relaxed) : 0;
  };
}

pid_t ExecutorDevice::pid() const {
  return link_->pid();
}

}  // namespace modeld::supervise
