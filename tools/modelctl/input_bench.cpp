#include "tools/modelctl/input_bench.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/engine/frame_runner.h"
#include "ipc/frames/mapped_buffer.h"
#include "runtime/artifact/artifact.h"
#include "runtime/selftest/reference_inputs.h"
#include "tools/modelctl/interrupt.h"

namespace modeld::modelctl {
namespace {

constexpr Nanoseconds kReplayDeadline = 600 * kSecond;
constexpr uint64_t kInputSeed = 1;
constexpr uint32_t kBuffers = 4;

// A camera that has taken one picture into each of its buffers and shows them in turn.
class StillCamera final : public ipc::FrameStream {
 public:
  static Result<std::unique_ptr<StillCamera>> make(const Nv12Layout& layout) {
    auto camera = std::unique_ptr<StillCamera>(new StillCamera);
    for (uint32_t i = 0; i < kBuffers; ++i) {
      MODELD_ASSIGN(auto buffer, make_buffer(layout, i));
      camera->buffers_.push_back(std::move(buffer));
    }
    camera->state_.connected = true;
    camera->state_.num_buffers = kBuffers;
    camera->state_.layout = layout;
    return camera;
  }

  ipc::Frame show() {
    ipc::Frame frame;
    frame.info.server_id = 1;
    frame.info.buffer_index = next_;
    frame.info.frame_id = next_;
    frame.info.receive_ns = Clock::real().monotonic();
    frame.buffer = buffers_[next_];
    next_ = (next_ + 1) % kBuffers;
    return frame;
  }

  Result<std::optional<ipc::Frame>> receive(Deadline) override {
    return std::optional<ipc::Frame>(show());
  }
  void maintain() override {}
  ipc::FrameCheck check(const ipc::Frame& frame) override {
    if (!frame.buffer->intact()) return ipc::FrameCheck::kUnreadable;
    // Nobody overwrites: the newest picture is this one.
    return ipc::check_frame(frame.info, frame.buffer->trailing_frame_id(), frame.info.frame_id,
                            kBuffers, 1);
  }
  std::optional<uint32_t> newest_notified_id() const override { return next_; }
  const ipc::StreamState& state() const override { return state_; }

 private:
  StillCamera() = default;

  static Result<std::shared_ptr<const ipc::FrameBuffer>> make_buffer(const Nv12Layout& layout,
                                                                     uint64_t index) {
    const uint64_t mapped = layout.length + sizeof index;
    UniqueFd fd(memfd_create("camera", MFD_CLOEXEC));
    if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(mapped)) != 0) {
      return errno_error("shared memory for a camera buffer", errno);
    }
    std::vector<std::byte> picture(mapped);
    for (size_t i = 0; i < layout.length; ++i) picture[i] = static_cast<std::byte>(i * 31 + index);
    std::memcpy(picture.data() + layout.length, &index, sizeof index);
    if (pwrite(fd.get(), picture.data(), picture.size(), 0) !=
        static_cast<ssize_t>(picture.size())) {
      return errno_error("writing a camera buffer", errno);
    }
    return ipc::MappedBuffer::map({layout.length, mapped, layout, 1, index, 0}, std::move(fd));
  }

  std::vector<std::shared_ptr<const ipc::FrameBuffer>> buffers_;
  uint32_t next_ = 0;
  ipc::StreamState state_;
};

Result<Contract> with_camera(const Contract& contract, FrameSize size) {
  Contract changed = contract;
  if (changed.cameras.empty()) {
    return Error(ErrorCode::kInvalidArgument, "--input")
        .expecting("a model with camera frames", "none");
  }
  if (size.width == 0) return changed;
  for (CameraContract& camera : changed.cameras) {
    MODELD_TRY(check_camera_size(camera, size));
    camera.sizes = {size};
  }
  return changed;
}

class InputBench {
 public:
  static Result<std::unique_ptr<InputBench>> make(const Model& model,
                                                  std::unique_ptr<Device> device,
                                                  const InputBenchOptions& options) {
    MODELD_ASSIGN(Contract contract, with_camera(model.contract, options.camera));
    CaptureOptions capture;
    capture.threads = options.threads;
    auto bench = std::unique_ptr<InputBench>(
        new InputBench(Engine(model, std::move(device), capture), options));
    MODELD_TRY(bench->prepare(contract));
    return bench;
  }

  Status run(uint32_t count, bool measured) {
    for (uint32_t i = 0; i < count; ++i) {
      if (interrupted()) return Error(ErrorCode::kInterrupted, "bench interrupted");
      MODELD_TRY(run_once(measured));
    }
    return {};
  }

  InputCost take() {
    cost_.used = runner_.mode() == InputMode::kBind ? FrameInput::kZeroCopy : FrameInput::kUpload;
    cost_.moved_bytes = runner_.copied_bytes();
    return std::move(cost_);
  }

 private:
  InputBench(Engine engine, const InputBenchOptions& options)
      : engine_(std::move(engine)),
        runner_(engine_, Clock::real(), kReplayDeadline),
        options_(options) {
    cost_.asked = options.input;
  }

  Status prepare(const Contract& contract) {
    for (size_t i = 0; i < contract.inputs.size(); ++i) {
      const InputContract& input = contract.inputs[i];
      if (input.role == InputRole::kFrame) {
        const CameraContract& camera = *contract.find_camera(input.name);
        MODELD_ASSIGN(const Nv12Layout layout, reference_layout(camera));
        MODELD_ASSIGN(auto stream, StillCamera::make(layout));
        cost_.camera = camera.sizes[0];
        cost_.frame_bytes += layout.length;
        streams_.push_back(std::move(stream));
        pictures_.push_back({i, streams_.back().get(), nullptr, options_.input});
        continue;
      }
      if (input.type.dtype != DType::kFloat32) {
        return Error(ErrorCode::kInvalidArgument, "input '" + input.name + "'")
            .expecting("f32, as a daemon feeds it", to_string(input.type));
      }
      values_.emplace_back(static_cast<size_t>(input.type.elements()));
      fill_reference_input(contract, i, kInputSeed, 0,
                           std::as_writable_bytes(std::span(values_.back())));
      vector_inputs_.push_back(i);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      vectors_.push_back({vector_inputs_[i], values_[i]});
    }
    frames_.resize(pictures_.size());
    return {};
  }

  Status run_once(bool measured) {
    for (size_t i = 0; i < pictures_.size(); ++i) {
      frames_[i] = streams_[i]->show();
      pictures_[i].frame = &frames_[i];
    }
    FrameTimes times;
    const Nanoseconds begin = Clock::real().monotonic();
    const RunOutcome outcome = runner_.run(pictures_, vectors_, times);
    if (outcome.kind != RunOutcome::Kind::kCompleted) {
      return Error(ErrorCode::kDevice, "a frame was not answered: " + runner_.detail());
    }
    MODELD_TRY(outcome.capture->commit());
    const Nanoseconds took = Clock::real().monotonic() - begin;
    if (!measured) return {};
    cost_.copies.push_back(times[FramePhase::kUpload]);
    cost_.totals.push_back(took);
    return {};
  }

  Engine engine_;
  FrameRunner runner_;
  const InputBenchOptions options_;
  std::vector<std::unique_ptr<StillCamera>> streams_;
  std::vector<FrameRunner::Picture> pictures_;
  std::vector<ipc::Frame> frames_;
  std::vector<size_t> vector_inputs_;
  std::vector<std::vector<float>> values_;
  std::vector<FrameRunner::Vector> vectors_;
  InputCost cost_;
};

}  // namespace

Result<InputCost> measure_input(const Model& model, std::unique_ptr<Device> device,
                                const InputBenchOptions& options) {
  MODELD_ASSIGN(const auto bench, InputBench::make(model, std::move(device), options));
  MODELD_TRY(bench->run(options.warmup, false));
  MODELD_TRY(bench->run(options.runs, true));
  return bench->take();
}

}  // namespace modeld::modelctl
