// The library's C++ interface for recording. For .cpp files only: it is heavy.
#pragma once

#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cpu/onednn_call.h"

namespace modeld::cpu {

const dnnl::engine& onednn_engine();
// This thread's stream.
dnnl::stream& onednn_stream();

// Runs `make` and turns what it throws into an error.
Status onednn_try(const std::function<void()>& make);

// How much an implementation is wanted: its own code, the im2col fallback, or the library's
// reference code, which is a thousand times slower than either.
enum class Speed : uint8_t { kReference, kFallback, kOwn };
Speed speed_of(const std::string& implementation);

// The first implementation of `op` with the best speed; throws dnnl::error if there is only
// reference code. The library looks at `op` again whenever it is asked for the next one, and keeps
// no copy: it must live through the search, which a reference here takes care of.
template <typename Primitive>
typename Primitive::primitive_desc fastest(const typename Primitive::desc& op,
                                           const dnnl::primitive_attr& attributes) {
  typename Primitive::primitive_desc description(op, attributes, onednn_engine());
  int best = 0;
  Speed best_speed = speed_of(description.impl_info_str());
  for (int i = 1; best_speed != Speed::kOwn && description.next_impl(); ++i) {
    const Speed speed = speed_of(description.impl_info_str());
    if (speed > best_speed) {
      best_speed = speed;
      best = i;
    }
  }
  if (best_speed == Speed::kReference) {
    throw dnnl::error(dnnl_unimplemented, "only reference code");
  }
  typename Primitive::primitive_desc chosen(op, attributes, onednn_engine());
  for (int i = 0; i < best; ++i) chosen.next_impl();
  return chosen;
}

struct OneDnnCall::Impl {
  struct Argument {
    int index;  // DNNL_ARG_*
    dnnl::memory memory;
    ValueId value;    // whose address the memory gets; kNoValue: it has its own
    uint64_t offset;  // bytes into the value
  };

  Impl(dnnl::primitive made, std::vector<Argument> given);

  dnnl::primitive primitive;
  std::vector<Argument> arguments;
  std::vector<dnnl_exec_arg_t> call;  // as the library wants them
  std::vector<std::byte*> addresses;  // set in the memories last
};

}  // namespace modeld::cpu
