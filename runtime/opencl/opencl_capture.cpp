#include "runtime/opencl/opencl_capture.h"

#include <algorithm>
#include <cstring>

#include "runtime/opencl/cl_buffer.h"

namespace modeld::opencl {
namespace {

constexpr Nanoseconds kTearDown = 10 * kSecond;

Slot slot_of(const Program& program, TensorId tensor) {
  const Tensor& found = program.tensors[tensor];
  return {found.name, found.type, found.type.bytes()};
}

}  // namespace

void OpenClCapture::describe(const Program& program,
                             const std::vector<std::optional<FrameBinding>>& frames) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    inputs_.push_back(slot_of(program, program.inputs[i]));
    if (frames[i]) inputs_[i].bytes = frames[i]->layout.length;
    bind_inputs_.push_back(frames[i] && frames[i]->mode == InputMode::kBind);
    bound_.push_back(false);
  }
  for (const TensorId id : program.outputs) outputs_.push_back(slot_of(program, id));
  for (const StateBinding& state : program.states) {
    states_.push_back(slot_of(program, state.current));
  }
}

Status OpenClCapture::load_initial_states(const Program& program, WeightSource& weights) {
  for (const StateBinding& state : program.states) {
    std::vector<std::byte> bytes;
    if (state.initial) {
      bytes.resize(state.initial->length);
      MODELD_TRY(weights.read(state.initial->offset, bytes));
    } else {
      bytes.resize(program.tensors[state.current].type.bytes());
    }
    initial_states_.push_back(std::move(bytes));
  }
  return {};
}

Result<std::unique_ptr<OpenClCapture>> OpenClCapture::record(
    SessionPointer session, DeviceArena& memory, KernelCache& kernels, const Program& program,
    WeightSource& weights, const std::vector<std::optional<FrameBinding>>& frames,
    Nanoseconds load_deadline) {
  std::unique_ptr<OpenClCapture> capture(new OpenClCapture(session));
  capture->describe(program, frames);
  MODELD_TRY(capture->load_initial_states(program, weights));
  Lowering lowering(program, frames, session->traits(), session->tuning(),
                    session->base_alignment());
  MODELD_TRY(lowering.load_constants(weights));
  MODELD_TRY(lowering.lower_all());
  capture->plan_ = std::move(lowering).finish();
  MODELD_TRY(capture->allocate(memory));
  MODELD_TRY(capture->prepare(kernels));
  MODELD_TRY(capture->reset_state());
  MODELD_TRY(capture->warm_up(load_deadline));
  kernels.keep_binaries();
  return capture;
}

OpenClCapture::~OpenClCapture() {
  if (flight_ == nullptr) return;
  cl_int status = CL_COMPLETE;
  if (in_flight_) flight_->wait(Deadline::after(Clock::real(), kTearDown), status);
  release_events();
  flight_->release();
}

Status OpenClCapture::allocate(DeviceArena& memory) {
  flight_ = Flight::make(plan_.upload_bytes, plan_.download_bytes);
  if (!flight_->ok()) {
    return Error(ErrorCode::kExhausted, "host memory for transfers")
        .expecting(std::to_string(plan_.upload_bytes + 2 * plan_.download_bytes) + " bytes",
                   "allocation refused");
  }
  const auto take = [&](DeviceArena::Piece& to, uint64_t bytes) -> Status {
    MODELD_ASSIGN(to, memory.take(bytes));
    device_bytes_ += bytes;
    return {};
  };
  // Kernels may be given tensors without elements, which need memory behind them all the same.
  const auto lives = [&](Home home) {
    return std::any_of(plan_.roots.begin(), plan_.roots.end(),
                       [home](const Root& root) { return root.home == home; });
  };
  if (lives(Home::kArena)) MODELD_TRY(take(arena_, plan_.arena_bytes));
  if (lives(Home::kUpload)) MODELD_TRY(take(upload_, plan_.upload_bytes));
  if (lives(Home::kDownload)) MODELD_TRY(take(download_, plan_.download_bytes));
  own_.resize(plan_.roots.size());
  for (RootId id = 0; id < plan_.roots.size(); ++id) {
    const Home home = plan_.roots[id].home;
    if (home != Home::kState && home != Home::kNext && home != Home::kFlags) continue;
    MODELD_TRY(take(own_[id], plan_.roots[id].bytes));
  }
  const ClCalls& calls = session_->calls();
  for (ConstantBytes& constant : plan_.constants) {
    MODELD_TRY(take(own_[constant.root], constant.bytes.size()));
    if (constant.bytes.empty()) continue;
    MODELD_TRY(cl_status("clEnqueueWriteBuffer",
                         calls.EnqueueWriteBuffer(session_->queue(), own_[constant.root].get(),
                                                  CL_TRUE, 0, constant.bytes.size(),
                                                  constant.bytes.data(), 0, nullptr, nullptr)));
    constant.bytes = {};
  }
  return {};
}

cl_mem OpenClCapture::memory_of(RootId root) const {
  switch (plan_.roots[root].home) {
    case Home::kArena:
      return arena_.get();
    case Home::kUpload:
      return upload_.get();
    case Home::kDownload:
      return download_.get();
    case Home::kBound:
      return nullptr;
    default:
      return own_[root].get();
  }
}

Status OpenClCapture::set_memory(cl_kernel kernel, cl_uint index, RootId root) {
  const ClCalls& calls = session_->calls();
  cl_mem memory = memory_of(root);
  const cl_ulong offset = plan_.roots[root].offset;
  if (memory != nullptr) {
    MODELD_TRY(
        cl_status("clSetKernelArg", calls.SetKernelArg(kernel, index, sizeof memory, &memory)));
  }
  return cl_status("clSetKernelArg", calls.SetKernelArg(kernel, index + 1, sizeof offset, &offset));
}

Status OpenClCapture::set_arguments(const Launch& launch, cl_kernel kernel) {
  cl_uint index = 0;
  for (const Argument& argument : launch.arguments) {
    if (argument.root == kNoRoot) {
      const cl_long number = argument.number;
      MODELD_TRY(cl_status("clSetKernelArg",
                           session_->calls().SetKernelArg(kernel, index, sizeof number, &number)));
      index += 1;
      continue;
    }
    MODELD_TRY(set_memory(kernel, index, argument.root));
    const Root& root = plan_.roots[argument.root];
    if (root.home == Home::kBound)
      bound_arguments_.push_back({commands_.size(), index, root.index});
    index += 2;
  }
  return {};
}

Status OpenClCapture::prepare(KernelCache& kernels) {
  std::vector<const KernelSource*> sources;
  for (const Launch& launch : plan_.launches) sources.push_back(&launch.source);
  MODELD_TRY(kernels.build(sources));
  for (const Launch& launch : plan_.launches) {
    auto kernel = kernels.create(launch.source);
    if (!kernel.ok()) return std::move(kernel).error().in("op " + launch.op);
    if (Status status = set_arguments(launch, kernel->get()); !status.ok()) {
      return std::move(status).error().in("op " + launch.op);
    }
    commands_.push_back({std::move(*kernel), launch.global, launch.local, launch.phase, false});
  }
  for (const Phase phase : {Phase::kWarp, Phase::kHistory, Phase::kModel, Phase::kDownload}) {
    const auto is_phase = [&](const Command& command) { return command.phase == phase; };
    const auto first = std::find_if(commands_.begin(), commands_.end(), is_phase);
    const auto last = std::find_if(commands_.rbegin(), commands_.rend(), is_phase);
    if (first == commands_.end()) continue;
    first->timed = true;
    last->timed = true;
  }
  // Events of a replay: all kernels at most, upload, download, completion.
  events_.reserve(commands_.size() + 4);
  step_times_.assign(commands_.size(), 0);
  return {};
}

// Runs everything once: drivers finish compiling at a kernel's first launch.
Status OpenClCapture::warm_up(Nanoseconds deadline) {
  std::vector<ClMemHandle> stand_ins;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!bind_inputs_[i]) continue;
    MODELD_ASSIGN(ClMemHandle memory, session_->create_buffer(inputs_[i].bytes));
    MODELD_TRY(bind_memory(i, memory.get()));
    stand_ins.push_back(std::move(memory));
  }
  MODELD_ASSIGN(Submission* const submission, replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), deadline)));
  shadow_ready_ = false;
  std::fill(bound_.begin(), bound_.end(), false);
  for (const unsigned set : {0u, 1u}) {
    std::memset(flight_->download(set), 0, plan_.download_bytes);
  }
  return {};
}

std::span<std::byte> OpenClCapture::staging(size_t input) {
  if (input >= inputs_.size() || bind_inputs_[input]) return {};
  return {flight_->upload() + plan_.roots[plan_.inputs[input]].offset, inputs_[input].bytes};
}

Status OpenClCapture::bind_memory(size_t input, cl_mem memory) {
  for (const BoundArgument& argument : bound_arguments_) {
    if (argument.input != input) continue;
    MODELD_TRY(cl_status("clSetKernelArg",
                         session_->calls().SetKernelArg(commands_[argument.command].kernel.get(),
                                                        argument.index, sizeof memory, &memory)));
  }
  bound_[input] = true;
  return {};
}

Status OpenClCapture::bind(size_t input, Buffer& buffer) {
  if (input >= inputs_.size() || !bind_inputs_[input]) {
    return Error(ErrorCode::kInvalidArgument, "input cannot be bound")
        .expecting("a frame input recorded for binding", std::to_string(input));
  }
  MODELD_TRY(check_idle("bind"));
  auto* const own = dynamic_cast<OpenClBuffer*>(&buffer);
  if (own == nullptr || own->session() != session_.get()) {
    return Error(ErrorCode::kInvalidArgument, "input '" + inputs_[input].name + "'")
        .expecting("a buffer of this device", "another device's");
  }
  if (own->size() < inputs_[input].bytes) {
    return Error(ErrorCode::kInvalidArgument, "input '" + inputs_[input].name + "'")
        .expecting("at least " + std::to_string(inputs_[input].bytes) + " bytes",
                   std::to_string(own->size()) + " bytes");
  }
  return bind_memory(input, own->memory());
}

Status OpenClCapture::check_idle(std::string_view what) const {
  if (!in_flight_) return {};
  return Error(ErrorCode::kInvalidArgument, std::string(what) + " while a replay is in flight");
}

Error OpenClCapture::fail(Error error) {
  if (!failure_) failure_ = error;
  return error;
}

Result<Submission*> OpenClCapture::replay() {
  if (failure_) return *failure_;
  MODELD_TRY(check_idle("replay"));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!bind_inputs_[i] || bound_[i]) continue;
    return Error(ErrorCode::kInvalidArgument, "frame input '" + inputs_[i].name + "' is not bound");
  }
  running_set_ = completed_set_ ^ 1u;
  shadow_ready_ = false;
  queued_ = Clock::real().monotonic();
  enqueued_ = false;
  Status status = enqueue_all();
  if (status.ok()) status = enqueue_completion();
  if (!status.ok()) {
    release_events();
    // What was enqueued may still use the host memory: completion is asked for once more, without
    // which that memory is never freed.
    const bool ends = enqueued_ && enqueue_completion().ok();
    if (ends) in_flight_ = true;
    return fail(std::move(status).error());
  }
  in_flight_ = true;
  return &submission_;
}

Status OpenClCapture::note(Phase phase, size_t command, cl_event event) {
  if (event != nullptr) events_.push_back({phase, command, event});
  return {};
}

Status OpenClCapture::enqueue_all() {
  const ClCalls& calls = session_->calls();
  cl_event event = nullptr;
  if (plan_.upload_bytes > 0) {
    MODELD_TRY(cl_status(
        "clEnqueueWriteBuffer",
        calls.EnqueueWriteBuffer(session_->queue(), upload_.get(), CL_FALSE, 0, plan_.upload_bytes,
                                 flight_->upload(), 0, nullptr, &event)));
    enqueued_ = true;
    MODELD_TRY(note(Phase::kUpload, commands_.size(), event));
  }
  if (plan_.uses_flags) {
    for (RootId id = 0; id < plan_.roots.size(); ++id) {
      if (plan_.roots[id].home != Home::kFlags) continue;
      const cl_uint zero = 0;
      MODELD_TRY(
          cl_status("clEnqueueFillBuffer",
                    calls.EnqueueFillBuffer(session_->queue(), own_[id].get(), &zero, sizeof zero,
                                            0, kFlagCount * sizeof zero, 0, nullptr, nullptr)));
      enqueued_ = true;
    }
  }
  MODELD_TRY(enqueue_kernels());
  if (plan_.download_bytes > 0) {
    MODELD_TRY(cl_status("clEnqueueReadBuffer",
                         calls.EnqueueReadBuffer(
                             session_->queue(), download_.get(), CL_FALSE, 0, plan_.download_bytes,
                             flight_->download(running_set_), 0, nullptr, &event)));
    enqueued_ = true;
    MODELD_TRY(note(Phase::kDownload, commands_.size(), event));
  }
  for (RootId id = 0; plan_.uses_flags && id < plan_.roots.size(); ++id) {
    if (plan_.roots[id].home != Home::kFlags) continue;
    MODELD_TRY(cl_status("clEnqueueReadBuffer",
                         calls.EnqueueReadBuffer(session_->queue(), own_[id].get(), CL_FALSE, 0,
                                                 kFlagCount * sizeof(uint32_t), flight_->flags(), 0,
                                                 nullptr, nullptr)));
    enqueued_ = true;
  }
  return {};
}

Status OpenClCapture::enqueue_kernels() {
  const ClCalls& calls = session_->calls();
  for (size_t i = 0; i < commands_.size(); ++i) {
    const Command& command = commands_[i];
    cl_event event = nullptr;
    const cl_int code = calls.EnqueueNDRangeKernel(
        session_->queue(), command.kernel.get(), 3, nullptr, command.global.data(),
        command.local.data(), 0, nullptr, command.timed || keeps_step_times_ ? &event : nullptr);
    if (code != CL_SUCCESS) {
      return cl_error("clEnqueueNDRangeKernel", code).in("op " + plan_.launches[i].op);
    }
    enqueued_ = true;
    MODELD_TRY(note(command.phase, i, event));
  }
  return {};
}

Status OpenClCapture::enqueue_completion() {
  const ClCalls& calls = session_->calls();
  cl_event event = nullptr;
  MODELD_TRY(cl_status("clEnqueueMarkerWithWaitList",
                       calls.EnqueueMarkerWithWaitList(session_->queue(), 0, nullptr, &event)));
  enqueued_ = true;
  const ClEventHandle marker(event, calls.ReleaseEvent);
  flight_->begin();
  if (const cl_int code = calls.SetEventCallback(event, CL_COMPLETE, &Flight::completed, flight_);
      code != CL_SUCCESS) {
    flight_->end_without_callback(true);
    return cl_error("clSetEventCallback", code);
  }
  return cl_status("clFlush", calls.Flush(session_->queue()));
}

Status OpenClCapture::wait(Deadline deadline) {
  if (failure_) return *failure_;
  if (!in_flight_) return {};
  cl_int status = CL_COMPLETE;
  if (!flight_->wait(deadline, status)) {
    return Error(ErrorCode::kDeadline, "replay did not end in time");
  }
  in_flight_ = false;
  if (status < 0) {
    release_events();
    return fail(cl_error("commands of a replay", status));
  }
  finish_report();
  release_events();
  completed_set_ = running_set_;
  shadow_ready_ = true;
  return {};
}

void OpenClCapture::finish_report() {
  report_ = {};
  if (plan_.uses_flags) {
    report_.index_out_of_range = flight_->flags()[0];
    report_.integer_division_by_zero = flight_->flags()[1];
    report_.states_not_finite = flight_->flags()[2];
  }
  const ClCalls& calls = session_->calls();
  cl_ulong origin = 0;
  for (const Timed& timed : events_) {
    std::array<cl_ulong, 4> at{};
    constexpr std::array<cl_profiling_info, 4> kWhat = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START,
        CL_PROFILING_COMMAND_END};
    bool known = true;
    for (size_t i = 0; i < at.size(); ++i) {
      known = known && calls.GetEventProfilingInfo(timed.event, kWhat[i], sizeof at[i], &at[i],
                                                   nullptr) == CL_SUCCESS;
    }
    // A device's clock is its own: its distances are laid out from our moment of enqueueing.
    if (!known || at[3] < at[2]) continue;
    if (origin == 0) origin = at[0];
    if (timed.command < commands_.size()) {
      step_times_[timed.command] = static_cast<Nanoseconds>(at[3] - at[2]);
    }
    const auto ours = [&](cl_ulong device) {
      return queued_ + static_cast<Nanoseconds>(device - origin);
    };
    PhaseTimes& phase = report_.phases[static_cast<size_t>(timed.phase)];
    if (phase.started == 0) phase = {ours(at[0]), ours(at[1]), ours(at[2]), 0};
    phase.ended = std::max(phase.ended, ours(at[3]));
  }
}

void OpenClCapture::release_events() {
  for (const Timed& timed : events_) {
    static_cast<void>(session_->calls().ReleaseEvent(timed.event));
  }
  events_.clear();
}

std::span<const std::byte> OpenClCapture::output(size_t output) const {
  if (output >= outputs_.size()) return {};
  return {flight_->download(completed_set_) + plan_.roots[plan_.outputs[output]].offset,
          outputs_[output].bytes};
}

Status OpenClCapture::commit() {
  MODELD_TRY(check_idle("commit"));
  if (failure_) return *failure_;
  if (!shadow_ready_) return {};
  shadow_ready_ = false;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].bytes == 0) continue;
    const RootId next = plan_.next[i];
    const cl_int code = session_->calls().EnqueueCopyBuffer(
        session_->queue(), memory_of(next), own_[plan_.current[i]].get(), plan_.roots[next].offset,
        0, states_[i].bytes, 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return fail(cl_error("clEnqueueCopyBuffer", code));
  }
  return {};
}

Status OpenClCapture::reset_state() {
  MODELD_TRY(check_idle("reset"));
  for (size_t i = 0; i < states_.size(); ++i) MODELD_TRY(write_state(i, initial_states_[i]));
  shadow_ready_ = false;
  return {};
}

Status OpenClCapture::check_state(size_t state, size_t bytes) const {
  MODELD_TRY(check_idle("state access"));
  if (failure_) return *failure_;
  if (state < states_.size() && bytes == states_[state].bytes) return {};
  return Error(ErrorCode::kInvalidArgument, "state")
      .expecting(state < states_.size() ? std::to_string(states_[state].bytes) + " bytes"
                                        : "an index below " + std::to_string(states_.size()),
                 state < states_.size() ? std::to_string(bytes) + " bytes" : std::to_string(state));
}

Status OpenClCapture::read_state(size_t state, std::span<std::byte> out) const {
  MODELD_TRY(check_state(state, out.size()));
  if (out.empty()) return {};
  return cl_status(
      "clEnqueueReadBuffer",
      session_->calls().EnqueueReadBuffer(session_->queue(), own_[plan_.current[state]].get(),
                                          CL_TRUE, 0, out.size(), out.data(), 0, nullptr, nullptr));
}

Status OpenClCapture::write_state(size_t state, std::span<const std::byte> bytes) {
  MODELD_TRY(check_state(state, bytes.size()));
  shadow_ready_ = false;
  if (bytes.empty()) return {};
  return cl_status("clEnqueueWriteBuffer",
                   session_->calls().EnqueueWriteBuffer(
                       session_->queue(), own_[plan_.current[state]].get(), CL_TRUE, 0,
                       bytes.size(), bytes.data(), 0, nullptr, nullptr));
}

std::vector<StepInfo> OpenClCapture::steps() const {
  std::vector<StepInfo> steps;
  for (size_t i = 0; i < plan_.launches.size(); ++i) {
    const Launch& launch = plan_.launches[i];
    steps.push_back({launch.op, launch.how, launch.source.name, launch.signature, launch.global,
                     launch.local, step_times_[i]});
  }
  return steps;
}

}  // namespace modeld::opencl
