#include "runtime/selftest/reference_inputs.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/program/seeded_inputs.h"

namespace modeld {
namespace {

constexpr std::array<float, 9> kIdentity = {1, 0, 0, 0, 1, 0, 0, 0, 1};

std::array<float, 9> transform_of(const Contract& contract, const std::string& input) {
  for (const CameraContract& camera : contract.cameras) {
    if (camera.transform_input == input) return reference_transform(camera);
  }
  return kIdentity;
}

Status check_report(const ReplayReport& report) {
  if (report.index_out_of_range == 0 && report.integer_division_by_zero == 0) return {};
  return Error(ErrorCode::kCheckFailed, "a reference input leads out of range")
      .expecting("no index out of range and no integer division by zero",
                 std::to_string(report.index_out_of_range) + " and " +
                     std::to_string(report.integer_division_by_zero));
}

Status replay_one(Capture& capture, Nanoseconds replay_deadline) {
  MODELD_ASSIGN(Submission * submission, capture.replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), replay_deadline)));
  MODELD_TRY(check_report(submission->report()));
  return capture.commit();
}

}  // namespace

Result<Nv12Layout> reference_layout(const CameraContract& camera) {
  if (camera.sizes.empty()) {
    return Error(ErrorCode::kInvalidArgument, "sizes of camera '" + camera.frame_input + "'")
        .expecting("at least one", "none");
  }
  return Nv12Layout::openpilot(camera.sizes[0].width, camera.sizes[0].height);
}

Result<CaptureOptions> reference_capture_options(const Contract& contract) {
  CaptureOptions options;
  for (const CameraContract& camera : contract.cameras) {
    MODELD_ASSIGN(const Nv12Layout layout, reference_layout(camera));
    options.frames.push_back({camera.frame_input, layout.copied(), InputMode::kUpload});
  }
  return options;
}

std::array<float, 9> reference_transform(const CameraContract& camera) {
  constexpr float kMargin = 0.125f;
  constexpr float kSpan = 1 + 2 * kMargin;
  const auto width = static_cast<float>(camera.sizes[0].width);
  const auto height = static_cast<float>(camera.sizes[0].height);
  const auto out_width = static_cast<float>(camera.output_size.width);
  const auto out_height = static_cast<float>(camera.output_size.height);
  return {kSpan * width / out_width,
          0,
          -kMargin * width,  //
          0,
          kSpan * height / out_height,
          -kMargin * height,  //
          kMargin / out_width,
          0,
          1};
}

void fill_reference_input(const Contract& contract, size_t index, uint64_t seed, uint32_t step,
                          std::span<std::byte> out) {
  const InputContract& input = contract.inputs[index];
  if (input.role == InputRole::kTransform) {
    const std::array<float, 9> matrix = transform_of(contract, input.name);
    std::memcpy(out.data(), matrix.data(), std::min(out.size(), sizeof matrix));
    return;
  }
  fill_seeded(out, input.type.dtype, seed, static_cast<uint32_t>(index), step);
}

Result<OutputBytes> replay_reference(Capture& capture, const Contract& contract, uint64_t seed,
                                     uint32_t steps, Nanoseconds replay_deadline) {
  MODELD_TRY(capture.reset_state());
  for (uint32_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < contract.inputs.size(); ++i) {
      fill_reference_input(contract, i, seed, step, capture.staging(i));
    }
    MODELD_TRY(replay_one(capture, replay_deadline));
  }
  OutputBytes outputs;
  for (size_t i = 0; i < capture.outputs().size(); ++i) {
    const auto bytes = capture.output(i);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}

}  // namespace modeld
