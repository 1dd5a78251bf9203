// Whether this is a build with the address or thread sanitizer: they replace malloc, know no
// sandbox, and make code several times slower.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
#define MODELD_SANITIZED 1
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MODELD_SANITIZED 1
#endif
#endif
#ifndef MODELD_SANITIZED
#define MODELD_SANITIZED 0
#endif

namespace modeld {

inline constexpr bool kSanitized = MODELD_SANITIZED != 0;

}  // namespace modeld
