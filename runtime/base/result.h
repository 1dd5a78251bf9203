// Result<T>: a value or an Error. No exception crosses a room's border.
#pragma once

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/base/error.h"

namespace modeld {

// Not thread-safe; a plain value. Asking for value() of a failed result is a bug of the caller
// and asserts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    assert(!ok());
    return *error_;
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace modeld

#define MODELD_CONCAT_INNER(a, b) a##b
#define MODELD_CONCAT(a, b) MODELD_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Status or Result) to the caller, if it has one.
#define MODELD_TRY(expr)                                \
  do {                                                  \
    if (auto try_result_ = (expr); !try_result_.ok()) { \
      return std::move(try_result_).error();            \
    }                                                   \
  } while (false)

// `MODELD_ASSIGN(auto x, make())`: declares x from the value, or returns the error.
#define MODELD_ASSIGN(declaration, expr) \
  MODELD_ASSIGN_IMPL(MODELD_CONCAT(assign_result_, __LINE__), declaration, expr)
#define MODELD_ASSIGN_IMPL(temporary, declaration, expr)    \
  auto temporary = (expr);                                  \
  if (!temporary.ok()) return std::move(temporary).error(); \
  declaration = std::move(temporary).value()
