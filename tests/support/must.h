// For set-up code of tests, where an error means the test cannot go on.
#pragma once

#include <stdexcept>
#include <utility>

#include "runtime/base/result.h"

namespace modeld::test {

// The value; throws the error's text.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}
inline void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(to_string(status.error()));
}

}  // namespace modeld::test
