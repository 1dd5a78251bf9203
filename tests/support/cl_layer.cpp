#include "tests/support/cl_layer.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "tests/support/allocation_counter.h"

namespace modeld::test {
namespace {

struct State {
  uint64_t count = 0;
  // Fixed size, because counting must not allocate.
  static constexpr size_t kFunctions = 64;
  struct Function {
    const char* name = nullptr;
    uint64_t count = 0;
  };
  Function functions[kFunctions];
  size_t known = 0;
  std::optional<uint64_t> fail_at;
  std::string fail_function;
  cl_int code = CL_SUCCESS;
  std::string failed;
  int64_t live = 0;
  uint64_t driver_allocations = 0;

  uint64_t& of(const char* name) {
    for (size_t i = 0; i < known; ++i) {
      if (std::strcmp(functions[i].name, name) == 0) return functions[i].count;
    }
    functions[known].name = name;
    return functions[known++].count;
  }
};

State& state() {
  static State instance;
  return instance;
}

// The code this call is to answer, if it is the one that fails.
std::optional<cl_int> failure(const char* name) {
  State& s = state();
  const uint64_t total = s.count++;
  const uint64_t of_function = s.of(name)++;
  if (!s.fail_at) return std::nullopt;
  const uint64_t at = s.fail_function.empty() ? total : of_function;
  if (at != *s.fail_at || (!s.fail_function.empty() && s.fail_function != name)) {
    return std::nullopt;
  }
  s.failed = name;
  return s.code;
}

bool releases(std::string_view name) {
  return name.starts_with("Release");
}

// Follows objects through what creates and releases them.
void follow(std::string_view name, bool created) {
  if (releases(name)) --state().live;
  if (created) ++state().live;
}

template <typename Function, Function* kReal, size_t kName>
struct Layer;

constexpr const char* kNames[] = {
#define MODELD_CL_NAME(name) #name,
    MODELD_CL_CALLS(MODELD_CL_NAME)
#undef MODELD_CL_NAME
};

// The last pointer argument of a function that creates an object is where its error goes.
template <typename Last>
void set_error(cl_int code, Last last) {
  if constexpr (std::is_same_v<Last, cl_int*>) {
    if (last != nullptr) *last = code;
  }
}

template <typename First, typename... Rest>
void set_last_error(cl_int code, First first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    set_error(code, first);
  } else {
    set_last_error(code, rest...);
  }
}

// An event handed out through a cl_event* is an object too.
template <typename T>
bool made_event(T argument) {
  if constexpr (std::is_same_v<T, cl_event*>) return argument != nullptr;
  return false;
}

template <typename Answer, typename... Arguments, Answer(CL_API_CALL* kReal)(Arguments...),
          size_t kName>
struct Layer<Answer CL_API_CALL(Arguments...), kReal, kName> {
  static Answer CL_API_CALL call(Arguments... arguments) {
    const char* const name = kNames[kName];
    const std::optional<cl_int> code = failure(name);
    if (code && !releases(name)) {
      if constexpr (std::is_same_v<Answer, cl_int>) {
        return *code;
      } else {
        set_last_error(*code, arguments...);
        return nullptr;
      }
    }
    const uint64_t before = thread_allocation_count();
    const Answer answer = kReal(arguments...);
    state().driver_allocations += thread_allocation_count() - before;
    const bool event = (made_event(arguments) || ...);
    if constexpr (std::is_same_v<Answer, cl_int>) {
      follow(name, event && answer == CL_SUCCESS);
      return code ? *code : answer;
    } else {
      follow(name, answer != nullptr && std::strcmp(name, "EnqueueMapBuffer") != 0);
      return answer;
    }
  }
};

enum : size_t {
#define MODELD_CL_INDEX(name) k##name,
  MODELD_CL_CALLS(MODELD_CL_INDEX)
#undef MODELD_CL_INDEX
};

opencl::ClCalls make_calls() {
  opencl::ClCalls calls;
#define MODELD_CL_LAYER(name) \
  calls.name = &Layer<std::remove_pointer_t<decltype(calls.name)>, &::cl##name, k##name>::call;
  MODELD_CL_CALLS(MODELD_CL_LAYER)
#undef MODELD_CL_LAYER
  return calls;
}

}  // namespace

const opencl::ClCalls& ClLayer::calls() {
  static const opencl::ClCalls calls = make_calls();
  return calls;
}

void ClLayer::reset() {
  state() = State();
}

void ClLayer::fail_call(uint64_t nth, cl_int code) {
  state().fail_at = nth;
  state().fail_function.clear();
  state().code = code;
}

void ClLayer::fail_function(const std::string& function, uint64_t nth, cl_int code) {
  fail_call(nth, code);
  state().fail_function = function;
}

uint64_t ClLayer::count() {
  return state().count;
}

uint64_t ClLayer::count(const std::string& function) {
  const State& s = state();
  for (size_t i = 0; i < s.known; ++i) {
    if (s.functions[i].name == function) return s.functions[i].count;
  }
  return 0;
}

std::string ClLayer::failed() {
  return state().failed;
}

int64_t ClLayer::live_objects() {
  return state().live;
}

uint64_t ClLayer::driver_allocations() {
  return state().driver_allocations;
}

}  // namespace modeld::test
