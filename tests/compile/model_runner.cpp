#include "tests/compile/model_runner.h"

#include <cstring>
#include <stdexcept>

#include "runtime/reference/reference_device.h"
#include "tests/support/program_builder.h"

namespace modeld::test {
namespace {

void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(to_string(status.error()));
}

}  // namespace

ModelRunner::ModelRunner(const Model& model) : device_(open_reference_device()) {
  auto capture = device_->record(model.program, *model.weights, {});
  if (!capture.ok()) throw std::runtime_error(to_string(capture.error()));
  capture_ = std::move(capture).value();
}

Tensors ModelRunner::run(const Tensors& inputs) {
  for (size_t i = 0; i < capture_->inputs().size(); ++i) {
    const Slot& slot = capture_->inputs()[i];
    const HostTensor& value = inputs.at(slot.name);
    if (value.type != slot.type) throw std::runtime_error("wrong type for " + slot.name);
    std::memcpy(capture_->staging(i).data(), value.bytes.data(), value.bytes.size());
  }
  auto submission = capture_->replay();
  if (!submission.ok()) throw std::runtime_error(to_string(submission.error()));
  must((*submission)->wait(Deadline::after(Clock::real(), 600 * kSecond)));
  Tensors outputs;
  for (size_t i = 0; i < capture_->outputs().size(); ++i) {
    const auto bytes = capture_->output(i);
    const Slot& slot = capture_->outputs()[i];
    outputs[slot.name] = {slot.type, {bytes.begin(), bytes.end()}};
  }
  must(capture_->commit());
  return outputs;
}

std::vector<double> ModelRunner::state(const std::string& name) const {
  const auto index = find_slot(capture_->states(), name);
  if (!index) throw std::runtime_error("no state " + name);
  const Slot& slot = capture_->states()[*index];
  std::vector<std::byte> bytes(slot.bytes);
  must(capture_->read_state(*index, bytes));
  return to_doubles(slot.type.dtype, bytes);
}

}  // namespace modeld::test
