#include "runtime/cpu/onednn_call.h"

#include <omp.h>

#include <span>
#include <string_view>

#include "runtime/cpu/flush_subnormals.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/replay_heap.h"

namespace modeld::cpu {
namespace {

// What a thread needs to call the library.
struct ThreadTools {
  dnnl::stream stream{onednn_engine()};
  ReplayHeap heap;
};

ThreadTools& thread_tools() {
  thread_local ThreadTools tools;
  return tools;
}

bool starts_with_any(const std::string& name, std::span<const std::string_view> starts) {
  for (const std::string_view start : starts) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

OneDnnCall::Impl::Impl(dnnl::primitive made, std::vector<Argument> given)
    : primitive(std::move(made)), arguments(std::move(given)) {
  for (const Argument& argument : arguments)
    call.push_back({argument.index, argument.memory.get()});
  addresses.assign(arguments.size(), nullptr);
}

OneDnnCall::OneDnnCall(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OneDnnCall::~OneDnnCall() = default;
OneDnnCall::OneDnnCall(OneDnnCall&& other) noexcept = default;

void OneDnnCall::execute(const RunContext& context) {
  ThreadTools& tools = thread_tools();
  const ReplayHeap::Scope scope(tools.heap);
  for (size_t i = 0; i < impl_->arguments.size(); ++i) {
    const Impl::Argument& argument = impl_->arguments[i];
    if (argument.value == kNoValue) continue;
    std::byte* address = context.addresses[argument.value] + argument.offset;
    if (address == impl_->addresses[i]) continue;
    dnnl_memory_set_data_handle(argument.memory.get(), address);
    impl_->addresses[i] = address;
  }
  const FlushSubnormals flush;
  const dnnl_status_t status =
      dnnl_primitive_execute(impl_->primitive.get(), tools.stream.get(),
                             static_cast<int>(impl_->call.size()), impl_->call.data());
  if (status != dnnl_success) {
    int none = 0;
    context.state.library_status.compare_exchange_strong(none, static_cast<int>(status));
  }
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

Status prepare_onednn_thread() {
  omp_set_num_threads(1);
  return onednn_try([] { thread_tools(); });
}

OneThreadScope::OneThreadScope() : before_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

OneThreadScope::~OneThreadScope() {
  omp_set_num_threads(before_);
}

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  return thread_tools().stream;
}

Status onednn_try(const std::function<void()>& make) {
  try {
    make();
    return {};
  } catch (const dnnl::error& error) {
    return Error(ErrorCode::kDevice, std::string("oneDNN: ") + error.what());
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "oneDNN: not enough memory");
  }
}

Speed speed_of(const std::string& implementation) {
  constexpr std::string_view kReferenceNames[] = {"ref", "simple"};
  constexpr std::string_view kFallbackNames[] = {"gemm", "x64:gemm"};
  if (starts_with_any(implementation, kReferenceNames)) return Speed::kReference;
  if (starts_with_any(implementation, kFallbackNames)) return Speed::kFallback;
  return Speed::kOwn;
}

}  // namespace modeld::cpu
