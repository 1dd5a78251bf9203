// A layer between the opencl backend and the driver: counts calls, makes one fail, and knows what
// the driver allocates.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/opencl/cl_calls.h"

namespace modeld::test {

// One at a time, for the whole process (the table holds plain functions). Used by one thread.
class ClLayer {
 public:
  // What the installed layer does with each call.
  static const opencl::ClCalls& calls();

  // From here on: nothing fails, counts start at 0.
  static void reset();
  // The `nth` call (from 0) of all functions answers `code` without reaching the driver. Releases
  // reach the driver whatever they answer, so that nothing leaks.
  static void fail_call(uint64_t nth, cl_int code);
  // The `nth` call of `function` ("BuildProgram") alone.
  static void fail_function(const std::string& function, uint64_t nth, cl_int code);
  static uint64_t count();
  static uint64_t count(const std::string& function);
  // Function that was made to fail last; empty if none was.
  static std::string failed();

  // Objects created and not yet released, by the calls that went through here.
  static int64_t live_objects();
  // Heap allocations this thread made inside the driver.
  static uint64_t driver_allocations();
};

}  // namespace modeld::test
